{#-
    The checked value of a var of trueup: a tick for `trueup_until`, a plan for `trueup_approve`, true or
    false for every other var.
-#}
{% macro _var(name) -%}
    {%- set value = var(name, none if name in ['trueup_until', 'trueup_approve'] else false) -%}
    {%- if name == 'trueup_until' -%}
        {%- if value is not none and not trueup._is_bigint(value) -%}
            {%- do trueup._raise_error('Var `' ~ name ~ '`', 'an integer, or null for no cap', value) -%}
        {%- endif -%}
    {%- elif name == 'trueup_approve' -%}
        {%- if value is not none and value is not string -%}
            {%- do trueup._raise_error('Var `' ~ name ~ '`', 'the plan of a staged batch, such as plan-0123456789abcdef', value) -%}
        {%- endif -%}
    {%- elif value is not boolean -%}
        {%- do trueup._raise_error('Var `' ~ name ~ '`', 'true or false', value) -%}
    {%- endif -%}
    {{ return(value) }}
{%- endmacro %}
