{#-
    Repair. A damaged history is taken back from the last snapshot of ours. Wrong buckets of current rows are rebuilt from
    the history: `trueup_consolidate` sums the updates of each key, and orders and tombstones come from that snapshot.

    Each repair is one MERGE with a batch row, so it cannot overwrite the commit of another run.
-#}

{#-
    Repairs the store if it is damaged, and returns what was done, in words; none if it is not damaged. Raises if nothing
    can repair it.
-#}
{% macro _ensure_repaired(collection, newest, properties, rebuilds_all=false) -%}
    {%- set damage = trueup._get_damage(collection, collection.store, newest) -%}
    {%- if rebuilds_all -%}
        {%- do damage.update({'buckets': range(trueup._bucket_count()) | list}) -%}
    {%- endif -%}
    {%- if not damage.history and not damage.buckets -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set good_rows = trueup._get_good_rows(collection, newest, properties) -%}
    {%- set of_batch = 'batch ' ~ newest.seq -%}
    {%- if not good_rows -%}
        {%- do trueup._raise_error(
            'The store ' ~ collection.store, 'as ' ~ of_batch ~ ' has left it',
            'other rows, and no snapshot of ' ~ of_batch ~ ' to repair them from',
            'Nothing is written. Restore the table from a backup.'
        ) -%}
    {%- endif -%}
    {%- if damage.history -%}
        {%- set of_snapshot = trueup._get_damage(collection, good_rows, newest) -%}
        {%- if of_snapshot.history or of_snapshot.buckets -%}
            {%- do trueup._raise_error(
                'The history of ' ~ collection.store, 'as ' ~ of_batch ~ ' has left it',
                'other updates, also in the snapshot of ' ~ of_batch,
                'Nothing is written. Restore the table from a backup.'
            ) -%}
        {%- endif -%}
        {%- set forgotten = trueup._get_forgotten_keys(collection, good_rows) -%}
        {%- if forgotten -%}
            {%- set call = " --args '{collection: " ~ collection.name ~ "}'" -%}
            {%- do trueup._raise_error(
                'The store ' ~ collection.store, 'as ' ~ of_batch ~ ' has left it',
                'no row any more of ' ~ (forgotten | length) ~ (' key' if forgotten | length == 1 else ' keys')
                ~ ', of which somebody has deleted the whole history',
                'Nothing is written. If that was an erasure, accept it: dbt run-operation trueup.accept' ~ call
                ~ '. Else bring the rows back: dbt run-operation trueup.restore' ~ call ~ '.'
            ) -%}
        {%- endif -%}
        {%- do run_query(trueup._restore_sql(collection, newest, {
            'good_rows': good_rows, 'notes': trueup._get_repair_notes(collection, newest, properties, 'restored'),
        })) -%}
        {{ return('history and current rows restored from the snapshot of ' ~ of_batch) }}
    {%- endif -%}
    {%- do run_query(trueup._heal_store_sql(collection, newest, {
        'buckets': damage.buckets, 'good_rows': good_rows,
        'has_aggregate': trueup._get_has_aggregate('trueup_consolidate'),
        'notes': trueup._get_repair_notes(collection, newest, properties, 'healed'),
    })) -%}
    {{ return(
        'current rows rebuilt from the history: ' ~ damage.buckets | length ~ ' of ' ~ trueup._bucket_count() ~ ' buckets of keys'
    ) }}
{%- endmacro %}


{#- The rows of the store at the snapshot of the newest batch, for a `from`; none if it has expired. -#}
{% macro _get_good_rows(collection, newest, properties) -%}
    {%- set snapshot = trueup._get_last_own_snapshot(collection, newest, properties) -%}
    {{ return(trueup._subquery(trueup._get_snapshot_rows_select(
        collection, trueup._rows_at(collection.store, properties, snapshot)
    )) if snapshot else none) }}
{%- endmacro %}


{#-
    The hashes of the keys that have no row any more, if that is all that differs from `good_rows`: somebody has deleted whole
    keys, as for an erasure. An empty list for every other difference.
-#}
{% macro _get_forgotten_keys(collection, good_rows) -%}
    {%- set found = run_query(trueup._step_marker('check') ~ trueup._forgotten_keys_select(collection, good_rows)).rows[0].dict() -%}
    {{ return(fromjson(found.hashes) if found.is_all else []) }}
{%- endmacro %}


{#- The select behind `_get_forgotten_keys`: one row. -#}
{% macro _forgotten_keys_select(collection, good_rows) -%}
with

{%- for name, relation in {'before': good_rows, 'now': collection.store}.items() %}

{{ name }} as (

    select
        if(_kind = 'batch', null, hex({{ trueup._identity_hash_expr(collection) }})) as id, _kind, _seq, _ts, _diff,
        if(_kind = 'batch', xxhash64(_batch), {{ trueup._row_digest_expr(collection) }}) as digest
    from {{ relation }} as stored

),
{%- endfor %}

lost as (

    select * from before except all select * from now

),

added as (

    select * from now except all select * from before

)

select
    to_json(array_sort(collect_set(lost.id))) as hashes,
    count_if(lost.id is null or held.id is not null) = 0 and (select count(*) from added) = 0 as is_all
from lost
left join (select distinct id from now) as held on lost.id = held.id
{%- endmacro %}


{#- The snapshot that the newest batch has made; none if it has expired. -#}
{% macro _get_last_own_snapshot(collection, newest, properties) -%}
    {%- if trueup._is_delta(properties) -%}
        {{ return(trueup._get_own_delta_version(collection, newest)) }}
    {%- endif -%}
    {%- set commits = run_query(trueup._commits_select(collection.store)).rows -%}
    {%- set path = namespace(at=trueup._get_snapshot(collection.store, properties), own=none) -%}
    {%- set by_id = {} -%}
    {%- for row in commits -%}
        {%- do by_id.update({row[0]: {'parent': row[1], 'operation': row[2]}}) -%}
    {%- endfor -%}
    {%- for _ in by_id if path.at in by_id and path.at != newest.base -%}
        {%- if by_id[path.at].operation != 'replace' -%}
            {%- set path.own = path.at -%}
        {%- endif -%}
        {%- set path.at = by_id[path.at].parent -%}
    {%- endfor -%}
    {{ return(path.own if path.at == newest.base else none) }}
{%- endmacro %}


{#- The same on Delta: the version after the one that the batch was computed on. -#}
{% macro _get_own_delta_version(collection, newest) -%}
    {%- set first = trueup._version_number(newest.base) -%}
    {%- set found = namespace(version=none) -%}
    {%- for row in run_query('describe history ' ~ trueup._in_backquotes(collection.store)).rows -%}
        {%- if row['version'] | int > first and row['operation'] not in ['OPTIMIZE', 'VACUUM START', 'VACUUM END', 'SET TBLPROPERTIES'] -%}
            {%- set found.version = row['version'] -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found.version | string ~ '@' if found.version is not none else none) }}
{%- endmacro %}


{#- The rows of the store at a snapshot, with the columns that the store has now. -#}
{% macro _get_snapshot_rows_select(collection, good) -%}
    {%- set there = trueup._get_columns('select * from ' ~ good) | map(attribute='name') | map('lower') | list -%}
    {%- set types = trueup._store_own_columns(collection) -%}
    {%- for column in collection.columns -%}
        {%- do types.update({column.name: trueup._sql_type(trueup._stored_type(column.type))}) -%}
    {%- endfor -%}
select
    {%- for name in trueup._store_names(collection) %}
    cast({{ trueup._quoted(name) if name | lower in there else 'null' }} as {{ types[name] }}) as {{ trueup._quoted(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ good }}
{%- endmacro %}


{#-
    The batch row of a repair, as a select with all columns of the store: the sums of the batch before, and new notes.
-#}
{% macro _repair_batch_select(collection, newest, notes, relation) -%}
    {%- set plan = {'seq': newest.seq + 1} -%}
select
    {{ trueup._empty_store_items(collection, {
        '_kind': "'batch'", '_seq': newest.seq + 1, '_ts': newest.ts if collection.has_ticks else newest.ts + 1,
        '_batch': 'concat(' ~ trueup._literal(tojson(notes)[:-1] ~ ', ') ~ ", regexp_extract(_last._batch, '(\"order_errors\":.*)$', 1))",
    }) }}
from {{ trueup._subquery(trueup._unmoved_batch_select(collection, relation, newest.seq, notes.base)) }} as _last
{%- endmacro %}


{#- The notes of the batch row of a repair. The rest of it is that of the batch before. -#}
{% macro _get_repair_notes(collection, newest, properties, words) -%}
    {%- set notes = {
        'run': invocation_id, 'repair': words, 'at': run_started_at.timestamp() | int,
        'base': trueup._get_snapshot(collection.store, properties),
        'statistics': {'messages_received': 0, 'updates_committed': 0},
    } -%}
    {%- set own = ['seq', 'ts', 'plan', 'history', 'certificate', 'order_errors', 'erased', 'adopts', 'commits'] -%}
    {%- for name in newest if name not in notes and name not in own -%}
        {%- do notes.update({name: newest[name]}) -%}
    {%- endfor -%}
    {{ return(notes) }}
{%- endmacro %}


{#- The MERGE that makes the store what it was at a snapshot of ours, with one more batch row. -#}
{% macro _restore_sql(collection, newest, repair) -%}
{{ trueup._step_marker('commit') }}
merge into {{ collection.store }} as store
using (
    select * from {{ repair.good_rows }}
    union all
    {{ trueup._repair_batch_select(collection, newest, repair.notes, repair.good_rows) }}
) as repaired
    on store._kind = 'batch' and repaired._kind = 'batch' and store._seq = repaired._seq
    and repaired._seq = {{ newest.seq + 1 }}
{{ trueup._repair_clauses(collection, newest, 'true') }}
{%- endmacro %}


{#- The MERGE that rebuilds the current rows of some buckets from the history. -#}
{% macro _heal_store_sql(collection, newest, repair) -%}
    {%- set buckets, good_rows, has_aggregate = repair.buckets, repair.good_rows, repair.has_aggregate -%}
    {%- set of_buckets = trueup._key_bucket_expr(collection) ~ ' in (' ~ (buckets | join(', ')) ~ ')' -%}
    {%- set of_store = trueup._key_bucket_expr(collection, 'store.') ~ ' in (' ~ (buckets | join(', ')) ~ ')' -%}
{{ trueup._step_marker('commit') }}
merge into {{ collection.store }} as store
using (
    {{ trueup._rebuilt_rows_select(collection, of_buckets, good_rows, has_aggregate) }}
    union all
    {{ trueup._repair_batch_select(
        collection, newest, repair.notes, collection.store
    ) }}
) as repaired
    on store._kind = 'batch' and repaired._kind = 'batch' and store._seq = repaired._seq
{{ trueup._repair_clauses(collection, newest, 'store._kind in (' ~ trueup._current_kinds() ~ ') and ' ~ of_store) }}
{%- endmacro %}


{#- The clauses of a repair: it replaces the rows of the store for which `replaced` holds. -#}
{% macro _repair_clauses(collection, newest, replaced) -%}
when matched then update set
    _batch = raise_error('upper mismatch: batch {{ newest.seq + 1 }} of {{ collection.store }} exists')
when not matched then insert *
when not matched by source and {{ replaced }} then delete
{%- endmacro %}


{#-
    The current rows of some buckets, rebuilt from the history. `good_rows` is the store at the last snapshot of ours, which
    has the orders and tombstones.
-#}
{% macro _rebuilt_rows_select(collection, of_buckets, good_rows, has_aggregate) -%}
    {%- set identity = trueup._store_identity(collection) + [{'name': '_is_order_error', 'type': 'boolean'}] -%}
    {%- set content = trueup._store_content(collection) -%}
    {%- set names = collection.key + ['_error_key'] -%}
    {%- set value_names = collection.value_names + ['_error', '_error_kind'] -%}
with

history as (

    select *, _error_kind <=> 'order' as _is_order_error
    from {{ collection.store }}
    where _kind = 'update' and {{ of_buckets }}

),

{{ trueup._consolidated_update_ctes(collection, identity, content, has_aggregate) }},

known as ( -- the orders and tombstones of these buckets

    select
        {{ trueup._column_list(names) }}, _error_kind <=> 'order' as _is_order_error, _kind, _order, _seq,
        _delete_order, _orders
    from {{ good_rows }}
    where _kind in ({{ trueup._current_kinds() }}) and {{ of_buckets }}

),

rebuilt as (

    select
        if(_fault is null, if(_value._error_kind is null, 'row', 'error'), raise_error(concat(
            'the updates of a key in {{ collection.store }} do not add up: ', to_json(_key), ': ', _fault,
            '\nNothing is written. Restore the table from a backup.'
        ))) as _kind,
        coalesce(known._seq, consolidated._seq) as _seq,
        consolidated._ts,
        cast(null as int) as _diff,
        cast(null as string) as _cause,
        _value._error_kind,
        _key._error_key,
        _value._error,
        known._order,
        known._delete_order,
        known._orders,
        {%- for name in collection.key %}
        _key.{{ trueup._quoted(name) }},
        {%- endfor %}
        {%- for name in collection.value_names %}
        _value.{{ trueup._quoted(name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    from consolidated
    left join known
        on {% for name in names %}_key.{{ trueup._quoted(name) }} <=> known.{{ trueup._quoted(name) }} and {% endfor -%}
        _key._is_order_error = known._is_order_error and known._kind <> 'tombstone'

)

select
    _kind, _seq, _ts, _diff, _cause, _error_kind, _error_key, _error, _order,
    {{ trueup._row_digest_expr(collection) }} as _digest,
    {{ trueup._row_length_expr(collection) }} as _length,
    _delete_order,
    _orders,
    cast(null as string) as _batch,
    {{ trueup._column_list(collection.key + collection.value_names) }}
from rebuilt


union all

select {{ trueup._column_list(trueup._store_names(collection)) }}
from {{ good_rows }}
where _kind = 'tombstone' and {{ of_buckets }}
{%- endmacro %}


{#-
    The CTEs up to `consolidated`: what the updates in `history` leave of each key, with a `_fault` if they do not add up.
    By the aggregate `trueup_consolidate` of the Python module; if the session does not have it, by GROUP BY.

    Reads: `history`. Ends with: `consolidated`.
-#}
{% macro _consolidated_update_ctes(collection, identity, content, has_aggregate) -%}
    {%- if not has_aggregate -%}
{{ trueup._consolidated_by_group_ctes(identity, content) }}
    {%- else -%}
merged as (

    select trueup_consolidate(
        {{ trueup.row_bytes_expr(identity) }},
        {{ trueup.row_bytes_expr(content) }},
        cast(_diff as bigint), _seq, _ts
    ) as _live
    from history
    group by {{ trueup._key_bucket_expr(collection) }}

),

live as (

    select inline(arrays_zip(_live.key, _live.value, _live.seq, _live.ts, _live.fault)) from merged

),

consolidated as (

    select
        {{ trueup.row_from_bytes_expr('key', identity) }} as _key,
        {{ trueup.row_from_bytes_expr('value', content) }} as _value,
        seq as _seq,
        ts as _ts,
        fault as _fault
    from live

)
    {%- endif -%}
{%- endmacro %}


{#-
    The same by GROUP BY.

    Reads: `history`. Ends with: `consolidated`.
-#}
{% macro _consolidated_by_group_ctes(identity, content) -%}
    {%- set key = 'struct(' ~ trueup._column_list(identity | map(attribute='name')) ~ ')' -%}
    {%- set value = 'struct(' ~ trueup._column_list(content | map(attribute='name')) ~ ')' -%}
contents as (

    select {{ key }} as _key, {{ value }} as _value, sum(_diff) as _left, max(_seq) as _seq, max(_ts) as _ts
    from history
    group by {{ key }}, {{ value }}
    having sum(_diff) <> 0

),

consolidated as (

    select
        _key,
        max_by(_value, _left) as _value,
        max(_seq) as _seq,
        max(_ts) as _ts,
        if(sum(_left) = 1 and count(*) = 1, null, concat('non 0/1 diff_sum\nGot: diff_sum ', sum(_left))) as _fault
    from contents
    group by _key

)
{%- endmacro %}


{#- Whether the session has an aggregate of the Python module. -#}
{% macro _get_has_aggregate(name) -%}
    {{ return(run_query("show functions like '" ~ name ~ "'").rows | length > 0) }}
{%- endmacro %}
