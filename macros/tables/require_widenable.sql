{#-
    Raises if a Delta table lacks the property that these widenings need. Otherwise one table of the collection would
    be widened and the other one not, and no later run could succeed. Delta renames a column only with column mapping:
    a date must be renamed to become a timestamp.
-#}
{% macro _require_widenable(table, widened) -%}
    {%- set properties = trueup._get_properties(table) -%}
    {%- if not trueup._is_delta(properties) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- for column in widened -%}
        {%- set is_date = column.old_type == 'date' -%}
        {%- set needed = 'delta.columnMapping.mode' if is_date else 'delta.enableTypeWidening' -%}
        {%- if properties.get(needed, '') | lower not in (['name', 'id'] if is_date else ['true']) -%}
            {%- do trueup._raise_error(
                'The table ' ~ table,
                "one with the property '" ~ needed ~ "' = '" ~ ('name' if is_date else 'true') ~ "', because "
                ~ column.name ~ ' was ' ~ column.old_type ~ ' and is ' ~ column.type,
                'a table without it',
                'Nothing is changed. Set the property of the changelog and the state, as the documentation of Delta'
                ~ ' says, and in `+tblproperties`, because a rebuilt state has only those. Or cast the column back to '
                ~ column.old_type ~ ' in the log, or in the SELECT of the collection.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}
