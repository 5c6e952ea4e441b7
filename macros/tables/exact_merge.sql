{#-
    Raises if the session lets a MERGE into a Delta table add columns. The source of an apply has columns that
    the state must not get: with them, no later run could write.
-#}
{% macro _require_exact_merge() -%}
    {%- if trueup._file_format() == 'delta' and trueup._get_adds_columns() -%}
        {%- do trueup._raise_error(
            'The Spark setting `spark.databricks.delta.schema.autoMerge.enabled`',
            'false, because the columns of the tables are those of the collection',
            'true', 'Set it to false in the profile (`server_side_parameters`), or leave it out of the configuration'
            ~ ' of Spark and the hooks.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Whether the session is set so that a MERGE into a Delta table adds the columns of its source. -#}
{% macro _get_adds_columns() -%}
    {{ return(trueup._get_setting('spark.databricks.delta.schema.autoMerge.enabled') | lower == 'true') }}
{%- endmacro %}
