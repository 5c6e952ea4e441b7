{#-
    The CTE `consolidated` by GROUP BY alone.

    Reads: `history`. Ends with: `consolidated`.
-#}
{% macro _consolidated_natively_ctes(keys, values) -%}
contents as (

    select
        struct({{ trueup._column_list(keys | map(attribute='name')) }}) as _key,
        struct({{ trueup._column_list(values | map(attribute='name')) }}) as _value,
        sum(_diff) as _diff,
        max(_seq) as _seq,
        max(_ts) as _ts
    from history
    where {{ trueup._is_content_expr() }}
    group by
        struct({{ trueup._column_list(keys | map(attribute='name')) }}),
        struct({{ trueup._column_list(values | map(attribute='name')) }})
    -- Drop values that no longer exist: they are most of a long history, and nothing below needs them.
    having sum(_diff) <> 0

),

sums as (

    select
        _key,
        max_by(_value, _diff) as _value,
        max(_seq) as _seq,
        max(_ts) as _ts,
        sum(_diff) as diff_sum,
        count(*) as values_left
    from contents
    group by _key

),

consolidated as (

    select
        _key,
        _value,
        _seq,
        _ts,
        case
            when diff_sum not in (0, 1) then concat('non 0/1 diff_sum\nGot: diff_sum ', diff_sum)
            when values_left <> diff_sum then concat(
                'non 0/1 diff_sum of a value\nGot: diff_sum ', diff_sum, ' over ', values_left,
                ' values that do not cancel'
            )
        end as _fault
    from sums

)
{%- endmacro %}
