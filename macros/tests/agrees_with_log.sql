{#-
    Fails on each key whose row differs from the newest command of the log, by plain SQL of its own. `log` is what the model
    reads. It reads the log up to the place of the newest batch, and leaves out keys whose newest order the log has lost.
-#}
{% test agrees_with_log(model, log, key, sequence_by, delete_when='false', columns=none, skip_when='false') %}
    {%- set subject = 'Test `agrees_with_log` of ' ~ model -%}
    {%- do trueup._require_list(subject ~ ' argument `key`', key) -%}
    {%- do trueup._require_list(subject ~ ' argument `sequence_by`', sequence_by, are_names=false) -%}
    {%- do trueup._require_list(subject ~ ' argument `columns`', columns) -%}
    {%- set store = trueup._store_of(model) -%}
    {#- To compile needs no warehouse. -#}
    {%- set is_run = execute and flags.WHICH not in ['compile', 'generate'] -%}
    {%- set snapshot = trueup._get_position_of_store(store) if is_run else none -%}
with

newest as (

    select
        *,
        struct({{ sequence_by | join(', ') }}) as _order_in_log,
        row_number() over (
            partition by {{ trueup._column_list(key) }}
            order by {% for term in sequence_by %}{{ term }} desc{{ ', ' if not loop.last }}{% endfor %}
        ) as _rank_in_log
    from {{ log }}{{ ' version as of ' ~ snapshot if snapshot }}
    where not coalesce({{ skip_when }}, false) and {{ sequence_by[0] }} is not null

),

lost as ( -- keys whose newest order the log no longer has

    select {{ trueup._column_list(key, alias='store') }}
    from {{ store }} as store
    left join (select * from newest where _rank_in_log = 1) as newest on {{ trueup._same_key_expr(key, 'store', 'newest') }}
    where
        store._kind in ({{ trueup._current_kinds() }})
        and not coalesce(
            struct({% for _ in sequence_by %}store._order._{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %})
                <= newest._order_in_log,
            false
        )

),

expected as (

    select {{ trueup._column_list(key + columns) }}
    from newest
    where _rank_in_log = 1 and not coalesce({{ delete_when }}, false)

),

broken as (

    select {{ trueup._column_list(key) }} from {{ store }} where _kind = 'error'
    union all
    select {{ trueup._column_list(key) }} from lost

),

persisted as (

    select {{ trueup._column_list(key + columns) }} from {{ model }}

)

select 'only in the log' as side, expected.*
from (select * from expected except all select * from persisted) as expected
left anti join broken on {{ trueup._same_key_expr(key, 'expected', 'broken') }}
union all
select 'only in the table' as side, persisted.*
from (select * from persisted except all select * from expected) as persisted
left anti join broken on {{ trueup._same_key_expr(key, 'persisted', 'broken') }}
{% endtest %}


{#- The snapshot of the log up to which the newest batch of a store has read; none if the log has no snapshots. -#}
{% macro _get_position_of_store(store) -%}
    {%- set found = run_query(
        "select get_json_object(max_by(_batch, _seq), '$.position.snapshot') from " ~ store ~ " where _kind = 'batch'"
    ).rows[0][0] -%}
    {{ return((found | string).partition('@')[0] if found else none) }}
{%- endmacro %}
