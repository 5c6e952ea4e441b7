{#-
    The statement that drops a table with its files. Without `purge` Iceberg keeps the files, in a folder
    that belongs to no catalog any more. Delta has no `purge`: the catalog removes the files.
-#}
{% macro _drop_table_sql(relation, file_format) -%}
    {{ return(
        trueup._step_marker('drop') ~ '\ndrop table if exists ' ~ relation
        ~ (' purge' if file_format == 'iceberg' else '')
    ) }}
{%- endmacro %}
