{#-
    Raises if dbt gives a test only some of the rows of its table (dbt's config `where`). The rows left out would
    look like damage.
-#}
{% macro _require_whole_table(test) -%}
    {%- if config.get('where') -%}
        {%- do trueup._raise_error(
            'The test `trueup.' ~ test ~ '`', 'without the config `where`, because it is about the whole table',
            config.get('where'), 'Leave out `where` for this test.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
