{#-
    The rows as they would be if everything in the log were settled now, with `_is_final`: false if a command that no batch has
    settled changes the row. These are commands of open ticks, and late ones that no run has read.

    A view can call no function of a session. So only a table goes through the Python aggregate `trueup_provisional`. A view,
    a session without the aggregate and a log of partial commands use the select that a run writes. Both give the same rows.
-#}

{#- The select of `trueup.live`. It asks the store for the SELECT of its newest batch, so it runs only when dbt executes a model. -#}
{% macro _get_live_select(relation) -%}
    {%- set kind = config.get('materialized') if model.resource_type == 'model' else 'view' -%}
    {%- if kind not in ['view', 'table'] -%}
        {%- do trueup._raise_error(
            'Config `materialized` of ' ~ model.name ~ ', which calls `trueup.live`', 'view or table', kind,
            "Write {{ config(materialized='view') }} in the model."
        ) -%}
    {%- endif -%}
    {%- set read = trueup._get_reading(relation, 'live') -%}
    {%- if not read -%}
        {{ return(trueup._no_live_select(relation)) }}
    {%- elif not read.collection.has_ticks -%}
        {%- do trueup._raise_error(
            trueup._argument('live', 'collection'), 'a collection whose commands have ticks (argument `ts`)', relation,
            'Without ticks nothing is open: the view of the collection has all that was read.'
        ) -%}
    {%- endif -%}
    {%- set plan = trueup._reading_plan(read.collection, trueup._unsettled_rows_select(read), read.truncated, since=0) -%}
    {%- set is_folded = kind == 'table' and not read.collection.is_partial and trueup._get_has_aggregate('trueup_provisional') -%}
{{ trueup._folded_live_select(read.collection, read.store, plan) if is_folded
    else trueup._native_live_select(read.collection, read.store, plan) }}
{%- endmacro %}


{#-
    The commands that may not be settled, as a select: those of open ticks, and unless the option `late` drops or refuses them, those
    of settled ticks, too. Most of the latter were read before, and have no effect. An erased key has nothing that tells
    which of them were, so its late commands are left out.
-#}
{% macro _unsettled_rows_select(read) -%}
    {%- set takes_late = read.collection.options.late in ['newest', 'correct'] -%}
select log.*
from {{ trueup._subquery(read.query) }} as log
cross join (
    select
        max(cast(get_json_object(_batch, '$.upper') as bigint)) as upper,
        {{ trueup._erased_expr() }} as erased
    from {{ read.store }}
    where _kind = 'batch'
) as settled
where
    log._ts >= settled.upper
    {%- if takes_late %}
    or not array_contains(settled.erased, hex({{ trueup._identity_hash_expr(read.collection, 'log.') }}))
    {%- endif %}
{%- endmacro %}


{#- The live rows, by the select that a run writes. -#}
{% macro _native_live_select(collection, store, plan) -%}
    {%- set names = collection.key + collection.value_names -%}
with

{{ trueup._change_ctes(collection, store, plan) }}

select {{ trueup._column_list(names, '_persisted') }}, true as _is_final
from _persisted
left anti join _changes
    on {{ trueup._same_key_expr(collection.key + ['_error_key'], '_persisted', '_changes') }} and _changes._kind = 'retraction'
where _persisted._kind = 'row'

union all

select {{ trueup._column_list(names) }}, false
from _changes
where _kind = 'row'
{%- endmacro %}


{#-
    The live rows of a log of whole commands, by the aggregate `trueup_provisional`. It finds the newest of what is settled and
    what is not, in each bucket of keys. `_rank` says which is newer: the order, and what the option `ties` prefers at one order.
-#}
{% macro _folded_live_select(collection, store, plan) -%}
    {%- set key = collection.columns | selectattr('name', 'in', collection.key) | list -%}
    {%- set values = collection.columns | rejectattr('name', 'in', collection.key) | list -%}
    {%- set preferred = {
        'greatest': ', _digest', 'prefer_upsert': ', _digest is not null', 'prefer_delete': ', _digest is null'
    }.get(collection.options.ties, '') -%}
with

{{ trueup._persisted_ctes(collection, store) }},

{{ trueup._commands_ctes(collection, plan) }},

rivals as ( -- a delete has no digest; neither a delete nor an error has a value

    select {{ trueup._column_list(collection.key) }}, _error_key, _order, _digest, _value, false as _is_final
    from commands
    where not {{ trueup._lacks_order_expr() }}

    union all

    select
        {{ trueup._column_list(collection.key) }}, _error_key, _order, _digest,
        if(_digest is null, null, struct({{ trueup._column_list(collection.value_names) }}, _error, _error_kind)),
        true
    from {{ trueup._stored_relation(collection) }} as store
    where _kind in ({{ trueup._current_kinds() }}) and not _error_kind <=> 'order'

),

bucketed as (

    select
        {{ trueup._key_bucket_expr(collection) }} as _bucket,
        {{ trueup.row_bytes_expr(key) }} as _key,
        if(_digest is null or _value._error_kind is not null, null, {{ trueup.row_bytes_expr(values, '_value') }}) as _value,
        _order,
        _digest,
        _is_final
    from rivals
    cross join bound
    where _error_key is null and not coalesce(_order < {{ trueup._of_bound_expr(collection, '_truncated', {}) }}, false)

),

ranked as (

    select
        _bucket, _key, _value, _is_final,
        cast(dense_rank() over (partition by _bucket order by _order{{ preferred }}) as bigint) as _rank
    from bucketed

),

folded as (

    select trueup_provisional(_key, _value, _rank, _is_final) as _live
    from ranked
    group by _bucket

),

live as (

    select
        {{ trueup.row_from_bytes_expr('key', key) }} as _key,
        {{ trueup.row_from_bytes_expr('value', values) }} as _value,
        is_final as _is_final
    from (select inline(arrays_zip(_live.key, _live.value, _live.is_final)) from folded)

)

select _key.*, _value.*, _is_final
from live
{%- endmacro %}


{#- The columns of the live rows without a row: before the first run of the collection. -#}
{% macro _no_live_select(relation) -%}
select *, true as _is_final from {{ relation }} where false
{%- endmacro %}
