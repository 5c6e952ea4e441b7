{#-
    The checked value of a var of trueup: a tick for `trueup_until`, a plan for `trueup_approve`, false or true for
    every other var.
-#}
{% macro _var(name) -%}
    {%- set defaults = {
        'trueup_until': none, 'trueup_approve': none, 'trueup_adopt': none, 'trueup_stalled_after': 3600
    } -%}
    {%- set value = trueup._given_var(name, defaults.get(name, false)) -%}
    {%- if name == 'trueup_until' -%}
        {%- set must = none if value is none or trueup._is_bigint(value)
            else 'an integer, or null for no limit' -%}
    {%- elif name == 'trueup_approve' -%}
        {%- set must = none if value is none or value is string
            else 'the name of a plan, such as plan-0123456789abcdef, or `orders`' -%}
    {%- elif name == 'trueup_stalled_after' -%}
        {%- set must = none if trueup._is_bigint(value) and value > 0 else 'a number of seconds above 0' -%}
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


{#-
    The value of a var as it is given, or the default. dbt gives a var below `vars: trueup:` to the models of the
    package alone, and not to those of the project and to its hooks.
-#}
{% macro _given_var(name, default) -%}
    {%- set of_package = var('trueup', {}) -%}
    {{ return(var(name, of_package.get(name, default) if of_package is mapping else default)) }}
{%- endmacro %}
