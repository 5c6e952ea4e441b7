{#- Whether there is neither a tick to settle, nor a correction, nor anything in open ticks. -#}
{% macro _is_idle(frontier) -%}
    {{ return(
        frontier.upper == frontier.lower
        and frontier.correction_count == 0
        and frontier.open_upper == frontier.lower
        and not frontier.has_provisional
    ) }}
{%- endmacro %}
