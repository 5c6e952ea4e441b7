{#- Whether there is nothing to do: no tick to settle, no correction, and nothing in open ticks. -#}
{% macro _is_idle(plan) -%}
    {{ return(
        plan.upper == plan.lower
        and plan.correction_count == 0
        and plan.open_upper == plan.lower
        and not plan.has_provisional
    ) }}
{%- endmacro %}
