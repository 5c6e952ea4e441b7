{#-
    The look: where the store stands, how far its log was read, and what is new. It reads metadata and the newest batch
    row. Only then it asks the new part of the log for a few numbers.
-#}

{#-
    The newest batch of a store, as a dict: `seq`, `ts` and the notes of its batch row; `base` is the snapshot that it was
    computed on. Without a store it is batch 0.
-#}
{% macro _get_newest_batch(collection) -%}
    {%- if not collection.has_store -%}
        {{ return({'seq': 0, 'ts': 0}) }}
    {%- endif -%}
    {%- set found = run_query(trueup._step_marker('look') ~ trueup._newest_batch_select(collection.store)).rows -%}
    {%- if not found -%}
        {%- do trueup._raise_error(
            'The store ' ~ collection.store, 'a table with at least batch row 0', 'a table without a batch row',
            'Somebody has removed them. Restore the table from a snapshot or a backup.'
        ) -%}
    {%- endif -%}
    {{ return(dict(fromjson(found[0]['notes']), seq=found[0]['seq'] | int, ts=found[0]['ts'] | int)) }}
{%- endmacro %}


{#- The select behind `_get_newest_batch`: the certificate is left out, because it is long. -#}
{% macro _newest_batch_select(store) -%}
select _seq as seq, _ts as ts, regexp_replace(_batch, '"certificate":.*$', '"certificate":[]}') as notes
from {{ store }}
where _kind = 'batch'
order by _seq desc
limit 1
{%- endmacro %}


{#-
    Whether every commit to the store since the newest batch was computed is ours: that is one commit, the batch itself.
    Rewrites of files do not count. `properties` are those of the store.
-#}
{% macro _get_is_store_ours(collection, properties, newest) -%}
    {%- if not newest.get('base') -%}
        {#- Batch row 0 is made with the table. -#}
        {{ return(true) }}
    {%- endif -%}
    {%- set now = trueup._get_snapshot(collection.store, properties) -%}
    {%- set operations = trueup._get_commit_operations(collection.store, properties, newest.base, now, newest.at) -%}
    {{ return(operations is not none and trueup._row_changes(operations) | length == 1) }}
{%- endmacro %}


{#-
    The part of the log that this run reads, as a dict:

    `rows`      a select of its commands
    `position`  the snapshot of the log at its end; none if the log has no snapshots
    `is_new`    whether it may hold a command that was not read
    `is_pinned` whether all statements of this run read the same rows
    `is_whole`  whether it is the whole log, and `reason`, why.
-#}
{% macro _get_new_part(collection, query, newest, code) -%}
    {%- set log = trueup._log_of_one_model(query) -%}
    {%- set properties = trueup._get_properties(log) if log else {} -%}
    {%- set obstacle = trueup._appended_rows_obstacle(properties) if log else 'the SELECT reads no log that trueup knows' -%}
    {%- set snapshot = trueup._get_snapshot(log, properties) if log and not obstacle else none -%}
    {%- set whole = {'rows': query, 'position': none, 'is_new': true, 'is_whole': true,
        'is_pinned': false, 'reason': obstacle or 'the log has no snapshots'} -%}
    {%- if snapshot is none -%}
        {{ return(whole) }}
    {%- endif -%}
    {%- set position = {'log': log, 'snapshot': snapshot, 'at': run_started_at.timestamp() | int} -%}
    {%- set last = newest.get('position') -%}
    {%- set whole = dict(whole, position=position) -%}
    {%- set at_snapshot = trueup._rows_at(log, properties, snapshot) -%}
    {%- if not last or newest.code != code -%}
        {%- set reason = 'the code of the model changed' if last else 'nothing was read yet' -%}
    {%- elif last.snapshot == snapshot -%}
        {{ return({'rows': none, 'position': position, 'is_new': false, 'is_whole': false}) }}
    {%- else -%}
        {%- set operations = trueup._get_commit_operations(log, properties, last.snapshot, snapshot, last.at) -%}
        {%- set reason = 'the log was made again or has forgotten snapshots' if operations is none
            else 'rows of the log were overwritten' if 'overwrite' in operations
            else 'new rows of the log were deleted' if trueup._has_deleted_new_rows(operations)
            else trueup._get_part_obstacle(log, properties, last.snapshot, snapshot, last.at, operations) -%}
    {%- endif -%}
    {%- if reason -%}
        {%- set is_current = trueup._get_has_current_columns(log, at_snapshot) -%}
        {{ return(dict(
            whole, reason=reason, is_pinned=is_current, rows=trueup._log_part_select(query, at_snapshot) if is_current else query
        )) }}
    {%- endif -%}
    {{ return({
        'rows': trueup._log_part_select(query, trueup._appended_rows(log, properties, last.snapshot, snapshot)),
        'position': position, 'is_new': true, 'is_whole': false, 'is_pinned': true,
    }) }}
{%- endmacro %}


{#-
    The log in the SQL of a model: the name of its table. None if the model does more than to call a macro of trueup, for
    example a join. Then its commands depend on other rows, too, and each run reads all of them.
-#}
{% macro _log_of_one_model(query) -%}
    {%- set starts = modules.re.match('(?s)' ~ trueup._space_pattern() ~ 'with log as \\(', query) -%}
    {%- set rest = trueup._without_texts(query).rpartition(trueup._log_boundary())[2] -%}
    {%- set depends = modules.re.search('(?i)\\b(join|group\\s+by|having|distinct|limit|union|intersect|minus)\\b', rest) -%}
    {{ return(trueup._log_of_view(query) if starts and not depends else none) }}
{%- endmacro %}


{#- Whether rows may have been deleted that were appended before. `operations` begin with the newest. -#}
{% macro _has_deleted_new_rows(operations) -%}
    {{ return('delete' in operations and 'append' in operations[operations.index('delete'):]) }}
{%- endmacro %}


{#-
    A few numbers about the commands of a part, as a dict: `commands`, `truncates`, `unordered`, and `filter`, the bits of
    their keys; none if there are too many keys.
-#}
{% macro _get_facts(collection, part) -%}
    {%- set facts = run_query(trueup._step_marker('check') ~ trueup._facts_select(collection, part)).rows[0].dict() -%}
    {{ return(facts) }}
{%- endmacro %}


{#- The select behind `_get_facts`. For a SELECT of rows `commands` is the number of keys that change. -#}
{% macro _facts_select(collection, part) -%}
    {%- if not collection.is_log -%}
with

{{ trueup._desired_ctes(collection, part.rows) }},

held as (

    select {{ trueup._column_list(collection.key) }}, _error_key, _digest as _held
    from {{ trueup._stored_relation(collection) }}
    where _kind in ({{ trueup._current_kinds() }})

)

select count_if(not _new._digest <=> _held) as commands, 0 as truncates, 0 as unordered, count(_commands) as desired
from newest
full outer join held on {{ trueup._same_key_expr(collection.key + ['_error_key'], 'newest', 'held') }}
    {%- else -%}
with

formed as (

    select
        {%- for column in collection.columns if column.name in collection.key %}
        if(_error_key is null, {{ trueup._given_value_expr(collection, column) }}, null) as {{ trueup._quoted(column.name) }},
        {%- endfor %}
        _error_key,
        _order,
        _op
        {%- if collection.has_old_key %},
        {{ trueup._old_key_expr(collection) }} as _old_key
        {%- endif %}
    from {{ trueup._subquery(part.rows) }}

)
{%- if collection.has_old_key %},

moves as (

    select * from formed where _old_key is not null and not {{ trueup._lacks_order_expr() }}

)
{%- endif %}

select
    count(*) as commands,
    count_if(_op = 'truncate') as truncates,
    count_if(_op = 'truncate' and ({{ trueup._lacks_order_expr() }} or {{ trueup._is_ahead_expr(collection) }})) as bad_truncates,
    count_if(_op <> 'truncate' and {{ trueup._lacks_order_expr() }}) as unordered,
    translate(
        hex(bitmap_construct_agg(pmod({{ trueup._identity_hash_expr(collection) }}, {{ trueup._filter_bits() }}))),
        'ABCDEF', ':;<=>?'
    ) as filter
    {%- if collection.has_old_key %},
    count(_old_key) as moves,
    {{ trueup._subquery(trueup._chain_select(collection)) if collection.is_partial else 'null' }} as cut
    {%- endif %}
from formed
    {%- endif %}
{%- endmacro %}


{#- Whether an order is a time more than a day ahead of the clock. Numbers have no known unit, so they are not judged. -#}
{% macro _is_ahead_expr(collection) -%}
    {%- set type = trueup._parsed_type(collection.order_type).fields[1].type.name -%}
    {{ return('_order._1 > current_timestamp() + interval 1 day' if type in ['timestamp', 'date'] else 'false') }}
{%- endmacro %}


{#- How many bits the filter of keys has. -#}
{% macro _filter_bits() -%}
    {{ return(32768) }}
{%- endmacro %}


{#- A condition: whether the batch may have a command for the key of this current row. -#}
{% macro _may_be_changed_expr(collection, filter, alias) -%}
    {%- set bit = 'pmod(' ~ trueup._identity_hash_expr(collection, alias ~ '.') ~ ', ' ~ trueup._filter_bits() ~ ')' -%}
    {{ return(
        "bit_get(ascii(cast(substring(cast('" ~ filter ~ "' as binary), cast(" ~ bit ~ ' div 8 * 2 + if(' ~ bit
        ~ ' % 8 >= 4, 1, 2) as int), 1) as string)) - 48, cast(' ~ bit ~ ' % 4 as int)) = 1'
    ) }}
{%- endmacro %}
