{#- Whether a step changes an order row. `_step_numbers` lists the steps. -#}
{% macro _is_order_step_expr() -%}
    {%- set step = trueup._step_numbers() -%}
_step in ({{ step.order_of_key }}, {{ step.old_order }}, {{ step.new_order }})
{%- endmacro %}


{#- The updates of the order rows among the `steps`, as a select in the form of the CTE `updates`. -#}
{% macro _order_updates_select(identity) -%}
    {%- set step = trueup._step_numbers() -%}
select
    {{ trueup._column_list(identity[:-1]) }},
    _value,
    _error_key,
    _ts,
    if(_step = {{ step.old_order }}, -1, 1) as _diff,
    _cause,
    'order' as _kind,
    cast(null as {{ trueup._statistics_type() }}) as _statistics,
    _digest
from steps
where {{ trueup._is_order_step_expr() }}
{%- endmacro %}
