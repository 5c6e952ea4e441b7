{#-
    CTEs that turn the steps of a batch into updates. If there was a value before, it is retracted. If
    there is a value after, it is added.

    `provisional` has the updates that eager batches wrote for ticks that were open then. With it,
    the fold begins before these ticks and makes all their updates again. The batch writes only the
    difference.

    With `open_sides`, `_folded_open_ticks_ctes` has already made the updates of open ticks.

    With `keeps_orders` the updates of the order rows come last.

    Reads: `steps_taken`, `open_sides`, the relation `provisional`; with `keeps_orders` also `steps`. Ends with:
    `updates`.
-#}
{% macro _updates_ctes(identity, provisional=none, open_sides=false, keeps_orders=false) -%}
    {%- set columns = trueup._column_list(identity) -%}
-- Rule: a value equal to the one before emits nothing. Deleting an absent key emits nothing.
changes as (

    select * from steps_taken where not (_value <=> _prior)

),

sides as (

    select
        {{ columns }},
        _ts,
        _cause,
        inlined.*
    from changes
    lateral view
        stack(2, -1, _prior, _prior_digest, 1, _value, _digest) inlined as _diff, _value, _digest
    where inlined._value is not null

),

{% if provisional -%}
new_and_negated as (

    select {{ columns }}, _ts, _cause, _diff, _value, _digest from sides
    union all
    {% if open_sides -%}
    select {{ columns }}, _ts, _cause, _diff, _value, _digest from open_sides
    union all
    {% endif -%}
    select {{ columns }}, _ts, _cause, -_diff as _diff, _value, _digest from {{ provisional }}

),

net as (

    select * except (_diff), sum(_diff) as _diff
    from new_and_negated
    group by all
    having sum(_diff) <> 0

),

-- One row adds or retracts once. A value that moves by two ticks at once needs two rows in a tick.
net_sides as (

    select
        * except (_diff),
        explode(array_repeat(cast(sign(_diff) as int), cast(abs(_diff) as int))) as _diff
    from net

),

{% endif -%}
updates as (

    select
        {{ trueup._column_list(identity[:-1]) }},
        _value,
        _error_key,
        _ts,
        _diff,
        _cause,
        'update' as _kind,
        cast(null as {{ trueup._statistics_type() }}) as _statistics,
        _digest
    from {{ 'net_sides' if provisional else 'sides' }}
    {%- if keeps_orders %}
    union all
    {{ trueup._order_updates_select(identity) }}
    {%- endif %}

)
{%- endmacro %}
