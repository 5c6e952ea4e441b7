{#-
    A column with one form for each value. Spark treats 0.0 and -0.0 as equal, and trueup does the
    same. If `given_type`, the type in the `commands`, is narrower, the value is widened to the type of the
    column.
-#}
{% macro _one_form_expr(column, given_type=none, commands=none) -%}
    {%- set name = trueup._quoted(column.name) -%}
    {%- if given_type is not none -%}
        {%- set name = trueup._of_known_type_expr(name, given_type, commands) -%}
    {%- endif -%}
    {%- if given_type not in [none, column.type] -%}
        {%- set name = 'cast(' ~ name ~ ' as ' ~ trueup._sql_type(column.type) ~ ')' -%}
    {%- endif -%}
    {%- set is_float = column.type in ['float', 'double'] -%}
    {{ return(name ~ ' + cast(0 as ' ~ column.type ~ ')' if is_float else name) }}
{%- endmacro %}


{#-
    The text of an error. The text of a value error is its payload. A key error always has the same
    text. So a second message with the same bytes, or without a key, changes nothing.
-#}
{% macro _error_text_expr() -%}
case
            when _error_key is null then _error
            when _error_key = 'null' then 'the key is null'
            else 'the key cannot be decoded'
        end
{%- endmacro %}
