{#-
    Fails on each key and tick of a changelog after which the diffs of the key, or of one of its rows, do
    not sum to 0 or 1. An open error is the live row of its key.
-#}
{% test one_live_row_per_key(model, unique_key) %}
    {%- do trueup._require_whole_table('one_live_row_per_key') -%}
    {%- do trueup._require_list(
        trueup._argument('one_live_row_per_key', 'unique_key'), unique_key
    ) -%}
    {%- if execute and flags.WHICH not in ['compile', 'generate'] -%}
        {%- do trueup._require_key_of_test('one_live_row_per_key', unique_key, model) -%}
    {%- endif -%}
    {%- set identity = trueup._column_list(unique_key + ['_error_key']) -%}
with

updates as (

    select
        {{ identity }},
        _ts,
        _diff,
        struct({{ trueup._all_but_list(trueup._update_columns()) }}) as _value
    from {{ model }}
    where _kind = 'update'

),

key_ticks as (

    select {{ identity }}, _ts, sum(_diff) as _diff_sum
    from updates
    group by all

),

row_ticks as (

    select {{ identity }}, _value, _ts, sum(_diff) as _diff_sum
    from updates
    group by all

),

live_keys as (

    select
        {{ identity }},
        _ts,
        sum(_diff_sum) over (partition by {{ identity }} order by _ts) as _diff_total
    from key_ticks

),

live_rows as (

    select
        {{ identity }},
        _ts,
        sum(_diff_sum) over (partition by _value order by _ts) as _diff_total
    from row_ticks

),

final as (

    select 'key' as _kind, * from live_keys where _diff_total not in (0, 1)
    union all
    select 'row' as _kind, * from live_rows where _diff_total not in (0, 1)

)

select * from final
{% endtest %}
