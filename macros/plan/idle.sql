{#-
    Whether there is nothing to do: no tick to settle, no correction, nothing in open ticks, and no late
    command that may win (`late: newest`).
-#}
{% macro _is_idle(plan) -%}
    {{ return(
        plan.upper == plan.lower
        and plan.correction_count == 0
        and plan.open_upper == plan.lower
        and not plan.has_provisional
        and not (plan.takes_late and plan.late_dropped != 0)
    ) }}
{%- endmacro %}
