{#-
    The columns of a select: a list of `name` and `type`. It uses `describe query`, because the rows of
    `describe table` mix columns with headings that begin with `#`. A column's name may begin with `#`, too.
-#}
{% macro _get_columns(select) -%}
    {%- set columns = [] -%}
    {%- for row in run_query('describe query ' ~ select) -%}
        {%- do columns.append({'name': row[0], 'type': row[1]}) -%}
    {%- endfor -%}
    {#- The type of the statistics is not needed here: `_statistics_type` gives it. -#}
    {%- for column in columns if '... ' in column.type and column.name != '_statistics' -%}
        {%- do column.update({'type': trueup._get_whole_type(select, column.name)}) -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro %}


{#-
    The type of a column of a select. `describe` leaves out the fields from the 26th on, so it is not used
    here.
-#}
{% macro _get_whole_type(select, name) -%}
    {%- set query -%}
select typeof(described.{{ trueup._quoted(name) }})
from (values (0)) as one
left join (
    {{ select }}
) as described on false
    {%- endset -%}
    {{ return(run_query(query).rows[0][0]) }}
{%- endmacro %}
