{#- Whether there is neither a tick to settle, nor a correction, nor anything in open ticks. -#}
{% macro _is_idle(plan) -%}
    {{ return(
        plan.upper == plan.lower
        and plan.correction_count == 0
        and plan.open_upper == plan.lower
        and not plan.has_provisional
    ) }}
{%- endmacro %}
