{#-
    Corrections: desired minus persisted, now. Desired is what the SELECT of the collection says; for a log it is, for each
    key, the newer of the log and the store. The select is the one that a run writes (`_changes_select`), over the whole log,
    and it is compared with what the rows hold now, not with the digests that were written beside them.
-#}

{#-
    The corrections of a collection, as a select. It asks the store for the SELECT of its newest batch, so it runs only when
    dbt executes a model.
-#}
{% macro _get_corrections_select(relation) -%}
    {%- set read = trueup._get_reading(relation, 'corrections') -%}
    {%- if not read -%}
        {{ return(trueup._no_corrections_select(relation)) }}
    {%- endif -%}
{{ trueup._corrections_select(
    read.collection, read.store, trueup._reading_plan(read.collection, read.query, read.truncated, since=1)
) }}
{%- endmacro %}


{#-
    What `macro` needs to compute what a collection should be, as a dict: its `collection`, the `store`, the SELECT of its newest
    batch as `query`, and the bound of its truncates. None before the first run.
-#}
{% macro _get_reading(relation, macro) -%}
    {%- set store = trueup._store_of(relation) -%}
    {#- dbt's cache does not know a store that this run has made. `dbt compile` may look before there is a schema. -#}
    {%- set is_there = adapter.check_schema_exists(store.database, store.schema) and run_query(
        'show tables in ' ~ store.without_identifier() ~ " like '" ~ store.identifier ~ "'"
    ).rows | length -%}
    {%- set batch = run_query(trueup._last_query_select(store)).rows[0] if is_there else [none] -%}
    {%- if not batch[0] -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set epochs = fromjson(batch[2] or '[]') -%}
    {%- if epochs | selectattr('from') | list -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, 'collection'), 'a collection whose orders have not begun again (option `order_epoch`)', relation,
            'A view cannot tell which commands are of which epoch. Leave this model out.'
        ) -%}
    {%- endif -%}
    {%- set query = trueup._rows_of_epoch(batch[0], epochs[0].epoch if epochs else 0) -%}
    {%- set node = graph.nodes.get(trueup._get_properties(store).get('trueup.owner'), {}) -%}
    {%- set described = trueup._get_columns(query) -%}
    {%- set collection = trueup._get_corrected_collection(store, node, described) -%}
    {%- if collection.has_old_key and collection.is_partial -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, 'collection'),
            'a collection whose commands do not both change keys and leave columns unchanged', relation,
            'Such a log cannot be read in one step. Leave this model out.'
        ) -%}
    {%- endif -%}
    {{ return({
        'collection': dict(collection, has_ticks='_ts' in described | map(attribute='name')), 'store': store, 'query': query,
        'truncated': fromjson(batch[1]) if batch[1] and collection.options.truncate_scope else batch[1],
    }) }}
{%- endmacro %}


{#- The columns of the corrections without a row: before the first run of the collection. -#}
{% macro _no_corrections_select(relation) -%}
select
    *,
    cast(null as string) as _error, cast(null as string) as _error_key, cast(null as int) as _diff, cast(null as string) as _cause
from {{ relation }}
where false
{%- endmacro %}


{#- The SELECT that the batches of a store were computed by, the bound of its truncates and its epochs, as a select of one row. -#}
{% macro _last_query_select(store) -%}
select
    max_by(get_json_object(_batch, '$.query'), _seq) filter (where get_json_object(_batch, '$.query') is not null) as query,
    max_by(get_json_object(_batch, '$.truncated'), _seq) as truncated,
    max_by(get_json_object(_batch, '$.epochs'), _seq) as epochs
from {{ store }}
where _kind = 'batch'
{%- endmacro %}


{#- The collection as `_changes_select` needs it. Its `store` is a CTE: see `_corrections_select`. -#}
{% macro _get_corrected_collection(store, node, described) -%}
    {%- set names, types = described | map(attribute='name') | list, {} -%}
    {%- for column in described -%}
        {%- do types.update({column.name | lower: column.type}) -%}
    {%- endfor -%}
    {%- set is_log = '_order' in names and '_op' in names -%}
    {{ return(dict(
        trueup._get_collection_of_store(store, node),
        store='_persisted', given_types=types, is_log=is_log, has_error='_error' in names, has_place='_place' in names,
        is_partial='_unchanged' in names, has_old_key='_old_key' in names, unchanged_value='_unchanged_value' in names,
    )) }}
{%- endmacro %}


{#- The corrections as a select: key and value columns, `_error`, `_error_key`, `_diff` and `_cause`. -#}
{% macro _corrections_select(collection, store, plan) -%}
    {%- set identity = collection.key + ['_error_key'] -%}
    {%- set content = collection.key + collection.value_names + ['_error', '_error_key', '_error_kind'] -%}
    {%- set order_errors = "_error_kind <=> 'order'" -%}
with

{{ trueup._change_ctes(collection, store, plan) }},

_shown as (

    select {{ trueup._column_list(content) }}
    from _persisted
    where _kind in ('row', 'error') and not {{ order_errors }}

),

_recorded as ( -- what the history says of each key

    select {{ trueup._column_list(content) }}
    from {{ store }}
    where _kind = 'update' and not {{ order_errors }}
    group by all
    having sum(_diff) > 0

),

_edited as ( -- keys that somebody else has edited

    select distinct {{ trueup._column_list(identity) }}
    from (
        (select * from _shown except all select * from _recorded)
        union all
        (select * from _recorded except all select * from _shown)
    )

),

_unread as ( -- those that the SELECT says nothing about

    select _edited.*
    from _edited
    left anti join _changes
        on {{ trueup._same_key_expr(identity, '_edited', '_changes') }} and _changes._kind in ('update', 'retraction')

),

{%- if collection.is_log %}

_erased as ( -- keys that nothing but the log knows

    select explode({{ trueup._erased_expr() }}) as id
    from {{ store }}
    where _kind = 'batch'

    except

    select hex({{ trueup._identity_hash_expr(collection) }})
    from {{ store }}
    where _kind <> 'batch'

),
{%- endif %}

_corrected as (

    select {{ trueup._column_list(content, '_changes') }}, 1 as _diff
    from _changes
    {%- if collection.is_log %}
    left anti join _erased
        on hex({{ trueup._identity_hash_expr(collection, '_changes.') }}) = _erased.id
    {%- endif %}
    where _changes._kind = 'update' and not _changes.{{ order_errors }}

    union all

    select {{ trueup._column_list(content, '_shown') }}, -1
    from _shown
    inner join _changes
        on {{ trueup._same_key_expr(identity, '_shown', '_changes') }}
        and _changes._kind = 'retraction' and not _changes.{{ order_errors }}

    union all

    select {{ trueup._column_list(content, '_recorded') }}, 1
    from _recorded
    inner join _unread on {{ trueup._same_key_expr(identity, '_recorded', '_unread') }}

    union all

    select {{ trueup._column_list(content, '_shown') }}, -1
    from _shown
    inner join _unread on {{ trueup._same_key_expr(identity, '_shown', '_unread') }}

)

select
    {{ trueup._column_list(collection.key + collection.value_names + ['_error', '_error_key'], '_corrected') }},
    _diff,
    if(_edited._is_edited, 'external_edit', '{{ 'late_command' if collection.is_log else 'drift' }}') as _cause
from _corrected
left join (select *, true as _is_edited from _edited) as _edited
    on {{ trueup._same_key_expr(identity, '_corrected', '_edited') }}
{%- endmacro %}


{#-
    The CTEs `_persisted`, what the store has, and `_changes`, what a run over a SELECT of commands or rows would do.

    Reads: the store. Ends with: `_changes`.
-#}
{% macro _change_ctes(collection, store, plan) -%}
{{ trueup._persisted_ctes(collection, store) }},

_changes as (

    {{ trueup._changes_select(collection, plan) }}

)
{%- endmacro %}


{#-
    What a run over a SELECT of commands or rows would do, as `_changes_select` needs it. All stored rows count as those of
    batch 0, so that a view holds also after the next batch: with `since` 1, a command replaces what was read at its order; with
    0, both are compared as commands of one order are.
-#}
{% macro _reading_plan(collection, rows, truncated, since) -%}
    {{ return({
        'rows': rows, 'seq': 1, 'ts': 0, 'since': since, 'cause': none, 'filter': none, 'truncated': truncated,
        'has_truncates': collection.is_log, 'new_truncates': collection.is_log, 'has_unordered': collection.is_log,
        'moves': collection.has_old_key, 'inherits': collection.has_old_key and collection.is_partial, 'reads_all': true,
        'is_dry': true, 'notes': {'base': none},
    }) }}
{%- endmacro %}


{#-
    What the store has: its current rows, each with the digest of what it holds now, and the newest batch row.

    Reads: the store. Ends with: `_persisted`.
-#}
{% macro _persisted_ctes(collection, store) -%}
_persisted as (

    select
        * except (_seq, _digest, _length),
        0L as _seq,
        if(_kind = 'tombstone', null, {{ trueup._row_digest_expr(collection) }}) as _digest,
        if(_kind = 'tombstone', null, {{ trueup._row_length_expr(collection) }}) as _length
    from {{ store }}
    where
        _kind in ({{ trueup._current_kinds() }})
        or _kind = 'batch' and _seq = (select max(_seq) from {{ store }} where _kind = 'batch')

)
{%- endmacro %}
