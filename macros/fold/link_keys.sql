{#-
    Changes of key as links. The value of an old key may itself come from another change of key. A key
    that is renamed several times in a batch makes a chain of links. Chains are resolved in rounds. Each
    round makes every link reach twice as far, so the number of rounds is the number of binary digits in
    the length of the longest chain.
-#}

{#-
    A select of links. There is one link for each change of key that leaves values unchanged. It has
    the value that the old key held: `_id` of the step, `_value`, the columns `_missing` in it, and
    `_next_id`, the link that they come from.

    Rule: the value is the last one before the order of the command. Deletes in the tick of the
    command are skipped, because some sources send a change of key as two commands, with the delete
    of the old key first. A delete in an earlier tick, or by a truncate, ends a value.

    `steps` are the steps that `_steps_select` makes, filled within each key.
-#}
{% macro _links_select(steps, identity, sequence) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set columns = trueup._column_list(identity) -%}
    {%- set in_tick = (['_order', '_step_place'] + sequence[1:-1]) | join(', ') -%}
with

-- The old key is read before all its steps of the same order, except the delete that a truncate makes.
-- That delete has no hash, so it comes first.
asked as (

    select
        {{ columns }},
        _step,
        _ts,
        case when _step = {{ step.command }} and _hash is null then 0 else 2 end as _step_place,
        {{ sequence[:-1] | join(',\n        ') }},
        struct(_value, _missing, _carrier) as _value_held,
        _value is not null or _hash is null as _is_kept,
        null as _carrier
    from {{ steps }}
    union all
    select distinct
        _old_key.*,
        null as _error_key,
        {{ step.command }} as _step,
        _ts,
        1 as _step_place,
        _order,
        {% for name in sequence[1:-1] -%}
        null as {{ name }},
        {% endfor -%}
        null as _value_held,
        false as _is_kept,
        _carrier
    from {{ steps }}
    where _step = {{ step.command }} and _carrier = {{ trueup._step_id_expr(identity) }}

),

-- All windows partition by the key first and sort alike, so Spark shuffles once and sorts once.
held as (

    select
        *,
        last_value(_value_held, true) over (
            partition by {{ columns }} order by _step, _ts, {{ in_tick }}
            rows between unbounded preceding and 1 preceding
        ) as _value_before
    from asked

),

answered as (

    select
        _carrier as _id,
        coalesce(
            last_value(case when _is_kept then _value_held end, true) over (
                partition by {{ columns }}, _step, _ts order by {{ in_tick }}
                rows between unbounded preceding and 1 preceding
            ),
            first_value(_value_before) over (
                partition by {{ columns }}, _step, _ts order by {{ in_tick }}
                rows unbounded preceding
            )
        ) as _value_held
    from held

)

select
    _id,
    _value_held._value,
    _value_held._missing,
    _value_held._carrier as _next_id
from answered
where _id is not null
{%- endmacro %}
