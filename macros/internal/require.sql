{#-
    Stops with a message of one form: who refuses what, what is allowed, what came,
    and, where it is not obvious, what to do next.
-#}
{% macro _refuse(subject, must, got, next_step=none) -%}
    {%- set lines = [subject ~ ' must be ' ~ must ~ '.', 'Got: ' ~ got] -%}
    {%- if next_step -%}
        {%- do lines.append(next_step) -%}
    {%- endif -%}
    {%- do exceptions.raise_compiler_error(lines | join('\n')) -%}
{%- endmacro %}


{#- Raises unless `value` is a non-empty list of names or expressions without repetition. -#}
{% macro _require_list(macro, argument, value) -%}
    {%- set subject = '`trueup.' ~ macro ~ '` argument `' ~ argument ~ '`' -%}
    {%- set must = 'a non-empty list of distinct, non-empty strings' -%}
    {%- if value is string or value is mapping or value is not iterable or value | length == 0 -%}
        {%- do trueup._refuse(subject, must, value) -%}
    {%- endif -%}
    {%- for item in value -%}
        {%- if item is not string or not item.strip() -%}
            {%- do trueup._refuse(subject, must, value) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if value | map('lower') | unique | list | length < value | length -%}
        {%- do trueup._refuse(subject, must, value) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless `value` is an SQL expression, that is a non-empty string. -#}
{% macro _require_expression(macro, argument, value) -%}
    {%- if value is not string or not value.strip() -%}
        {%- do trueup._refuse(
            '`trueup.' ~ macro ~ '` argument `' ~ argument ~ '`', 'an SQL expression', value
        ) -%}
    {%- endif -%}
{%- endmacro %}
