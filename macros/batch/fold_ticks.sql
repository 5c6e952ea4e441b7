{#-
    CTEs that find the winner of each key and tick and set it against the value before:
    `folded`, one row per key and tick, with `_value`, `_prior`, `_command_count`, `_is_tie`.

    The order is total: the greatest `_order` wins, then the content hash, then the content.
    Every window partitions by the key first and sorts alike, so one shuffle and one sort serve all.
-#}
{% macro fold_ticks(identity) -%}
    {%- set columns = trueup._column_list(identity) -%}
ranked as (

    select
        *,
        row_number() over (
            partition by {{ columns }}, _step, _ts
            order by _order desc, _hash desc, _value desc
        ) as _command_rank,
        count(*) over (partition by {{ columns }}, _step, _ts) as _command_count,
        _hash <> min(_hash) over (
            partition by {{ columns }}, _step, _ts
            order by _order desc range between current row and current row
        ) as _is_tie
    from steps

),

-- Rule: rank before dropping deletes; the winner of a tick may be one.
winners as (

    select * from ranked where _command_rank = 1

),

-- Rule: all ticks of a key are folded in sequence, once.
folded as (

    select
        *,
        lag(_value) over (partition by {{ columns }} order by _step, _ts) as _prior
    from winners

)
{%- endmacro %}
