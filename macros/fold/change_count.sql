{#- The number of commands and corrections that a batch folds, or a greater one. -#}
{% macro _change_count(plan) -%}
    {{ return(
        (plan.commands_read if plan.takes_late else plan.commands_ahead) + plan.correction_count
    ) }}
{%- endmacro %}
