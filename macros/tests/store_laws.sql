{#- Tests of what every store obeys. Each takes the collection, and reads its store. -#}

{#- Fails on each bucket of keys whose current rows differ from the certificate of the newest batch, and on a wrong history. -#}
{% test matches_certificate(model) %}
    {%- do trueup._require_whole_table('matches_certificate') -%}
{{ trueup._get_certificate_differences_select(model) if execute and flags.WHICH not in ['compile', 'generate'] else 'select 1' }}
{% endtest %}


{#-
    Fails on each row that only one side holds: the consolidated history or the current rows. `_diff` is above 0 for rows of
    the history, below 0 for current rows.
-#}
{% test consolidates_to_state(model) %}
    {%- do trueup._require_whole_table('consolidates_to_state') -%}
{{ trueup._unconsolidated_select(trueup._store_read_by_model(model)) }}
{% endtest %}


{#- Fails on each key and tick after which the diffs of the key, or of one of its rows, do not sum to 0 or 1. -#}
{% test one_live_row_per_key(model) %}
    {%- do trueup._require_whole_table('one_live_row_per_key') -%}
{{ trueup._get_wrong_ticks_select(model) if execute and flags.WHICH not in ['compile', 'generate'] else 'select 1' }}
{% endtest %}


{#- The select behind the test `matches_certificate`. -#}
{% macro _get_certificate_differences_select(relation) -%}
    {%- set collection = trueup._get_stored_collection(relation) -%}
with

damage as (

    {{ trueup._damage_select(collection, collection.store, collection.newest) }}

)

select 'current rows' as part, bucket from damage lateral view explode(from_json(buckets, 'array<int>')) found as bucket
union all
select 'history' as part, null as bucket from damage where not is_history_right
{%- endmacro %}


{#- The select behind the test `consolidates_to_state`. A current row of the wrong kind counts twice, so it is found. -#}
{% macro _unconsolidated_select(store) -%}
    {%- set own = trueup._store_column_names() | reject('in', ['_error_kind', '_error_key', '_error']) | list -%}
with

both_sides as (

    select {{ trueup._all_but_list(own) }}, _diff
    from {{ store }}
    where _kind = 'update'

    union all

    select {{ trueup._all_but_list(own) }}, if((_kind = 'row') = (_error_kind is null), -1, -2) as _diff
    from {{ store }}
    where _kind in ('row', 'error')

)

select * except (_diff), sum(_diff) as _diff
from both_sides
group by all
having sum(_diff) <> 0
{%- endmacro %}


{#- The select behind the test `one_live_row_per_key`. The error of a command without an order stands beside a row. -#}
{% macro _get_wrong_ticks_select(relation) -%}
    {%- set collection = trueup._get_stored_collection(relation) -%}
    {%- set identity = trueup._column_list(collection.key + ['_error_key']) ~ ', _is_order_error' -%}
with

updates as (

    select
        {{ trueup._column_list(collection.key + ['_error_key']) }},
        _error_kind <=> 'order' as _is_order_error,
        struct({{ trueup._column_list(collection.value_names + ['_error', '_error_kind']) }}) as _value,
        _ts,
        _diff
    from {{ collection.store }}
    where _kind = 'update'

),

totals as (

    select 'key' as _part, {{ identity }}, _ts, sum(sum(_diff)) over (partition by {{ identity }} order by _ts) as _diff_total
    from updates
    group by {{ identity }}, _ts

    union all

    select 'row' as _part, {{ identity }}, _ts, sum(sum(_diff)) over (partition by {{ identity }}, _value order by _ts) as _diff_total
    from updates
    group by {{ identity }}, _value, _ts

)

select * from totals where _diff_total not in (0, 1)
{%- endmacro %}
