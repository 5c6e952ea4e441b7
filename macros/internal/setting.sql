{#- The value of a Spark setting as a text, `<undefined>` if it is not set. -#}
{% macro _get_setting(name) -%}
    {{ return(run_query('set `' ~ name ~ '`').rows[0][1] | string) }}
{%- endmacro %}


{#- The next step if a setting of Spark has a value with which no run may write. -#}
{% macro _setting_next_step() -%}
    {{ return('Leave it out of the profile, the hooks and the configuration of Spark.') }}
{%- endmacro %}
