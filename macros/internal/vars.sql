{#-
    The checked value of a var of trueup: a tick for `trueup_until`, a plan for `trueup_approve`, a table for
    `trueup_adopt`, true or false for every other var.
-#}
{% macro _var(name) -%}
    {%- set value = var(name, none if name in ['trueup_until', 'trueup_approve', 'trueup_adopt'] else false) -%}
    {%- if name == 'trueup_until' -%}
        {%- set must = none if value is none or trueup._is_bigint(value)
            else 'an integer, or null for no limit' -%}
    {%- elif name == 'trueup_approve' -%}
        {%- set must = none if value is none or value is string
            else 'the plan of a staged batch, such as plan-0123456789abcdef' -%}
    {%- elif name == 'trueup_adopt' -%}
        {%- set must = none if value is none or value is string and value.count('.') == 1
            else 'a table with its schema, such as shop.orders_before_trueup' -%}
    {%- else -%}
        {%- set must = none if value is boolean else 'true or false' -%}
    {%- endif -%}
    {%- if must -%}
        {%- do trueup._raise_error(
            'Var `' ~ name ~ '`', must, value, 'Correct it in --vars, or in `vars` of dbt_project.yml.'
        ) -%}
    {%- endif -%}
    {{ return(value) }}
{%- endmacro %}
