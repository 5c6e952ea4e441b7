{#-
    Stops with a message of one form: who refuses what, what is allowed, what came,
    and, where it is not obvious, what to do next.
-#}
{% macro _raise_error(subject, must, got, next_step=none) -%}
    {%- set lines = [subject ~ ' must be ' ~ must ~ '.', 'Got: ' ~ got] -%}
    {%- if next_step -%}
        {%- do lines.append(next_step) -%}
    {%- endif -%}
    {%- do exceptions.raise_compiler_error(lines | join('\n')) -%}
{%- endmacro %}


{#- How a message names the argument of a macro. -#}
{% macro _argument(macro, argument) -%}
    {{ return('`trueup.' ~ macro ~ '` argument `' ~ argument ~ '`') }}
{%- endmacro %}


{#- Raises unless `value` is a non-empty list of non-empty strings: expressions, or with
    `are_names` columns, which may not repeat, as Spark sees them. -#}
{% macro _require_list(subject, value, are_names=true) -%}
    {%- set must = 'a non-empty list of non-empty strings' -%}
    {%- set must = must ~ ', none twice' if are_names else must -%}
    {%- set is_list = value is iterable and value is not string and value is not mapping -%}
    {%- if not is_list or value | length == 0 -%}
        {%- do trueup._raise_error(subject, must, value) -%}
    {%- endif -%}
    {%- for item in value if item is not string or not item.strip() -%}
        {%- do trueup._raise_error(subject, must, value) -%}
    {%- endfor -%}
    {%- if are_names and value | map('lower') | unique | list | length < value | length -%}
        {%- do trueup._raise_error(subject, must, value) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless `value` is an SQL expression, that is a non-empty string. -#}
{% macro _require_expression(macro, argument, value) -%}
    {%- if value is not string or not value.strip() -%}
        {%- do trueup._raise_error(trueup._argument(macro, argument), 'an SQL expression', value) -%}
    {%- endif -%}
{%- endmacro %}
