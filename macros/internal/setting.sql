{#- The value of a Spark setting as a text, `<undefined>` if it is not set. -#}
{% macro _get_setting(name) -%}
    {{ return(run_query('set `' ~ name ~ '`').rows[0][1] | string) }}
{%- endmacro %}
