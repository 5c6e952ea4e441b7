{#-
    CTEs that turn each truncate into deletes: one for every key that has a value at that point.
    They end with `steps_and_truncations`. Only the first truncate after a step can remove the value
    of that step. If a tick has several truncates, only the last one counts. A command with the same
    order as the truncate comes after it and stays.

    If the log is a remainder (`is_remainder`), a persisted value may be from any time. So the last
    truncate can remove it, too.

    Reads: `given`, the relation `source`. Ends with: `steps_and_truncations`.
-#}
{% macro _truncations_ctes(source, identity, sequence, step_extras, is_remainder) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set columns = trueup._column_list(identity) -%}
last_truncates as (

    select _ts, max(_order) as _order
    from given
    where _is_truncate
    group by _ts

),

truncates as (

    select collect_list(struct(_ts, _order)) as _positions from last_truncates

),

truncations as (

    select
        {{ columns }},
        array_min(filter(_positions, _position -> _position > struct(_ts, _order))) as _first
    from {{ source }}
    cross join truncates
    where _value is not null
    {%- if is_remainder %}
    union all
    select
        {{ columns }},
        array_max(_positions) as _first
    from {{ source }}
    cross join truncates
    where _step = {{ step.prior }}
    {%- endif %}

),

steps_and_truncations as (

    select * from {{ source }}
    union all
    select distinct
        {{ columns }},
        {{ step.command }} as _step,
        _first._ts,
        cast(null as string) as _cause,
        _first._order
        {%- for name in sequence[1:] + step_extras %},
        null as {{ name }}
        {%- endfor %}
    from truncations
    where _first is not null

)
{%- endmacro %}
