{#- The kind of a row of the state: a row or an open error. -#}
{% macro _kind_expr(error) -%}
    {{ return('case when ' ~ error ~ " is null then 'row' else 'error' end") }}
{%- endmacro %}


{#- The kind of an error: a bad value, a key that cannot be decoded, or a missing key. -#}
{% macro _error_kind_expr() -%}
case
        when _error_key is null then 'value'
        when _error_key = 'null' then 'null_key'
        else 'key'
    end
{%- endmacro %}
