{#-
    The statement that drops a table with its files. Without `purge` Iceberg keeps them, in a folder
    that no catalog knows any more; Delta has no such word, and the catalog removes them.
-#}
{% macro _drop_table_sql(relation, file_format) -%}
    {{ return(
        trueup._step_marker('drop') ~ '\ndrop table if exists ' ~ relation ~ (' purge' if file_format == 'iceberg' else '')
    ) }}
{%- endmacro %}
