{#-
    What has to hold of the tables of a collection before a run writes to them.
-#}

{#- Raises where a table that another model makes is not there yet. -#}
{% macro _require_made(collection, relation, by) -%}
    {%- if load_relation(relation) is none -%}
        {%- do trueup._refuse(
            model.name, 'run after ' ~ collection ~ '_' ~ by ~ ' has made ' ~ relation,
            'no such table', 'Run: dbt run -s ' ~ collection ~ '_' ~ by ~ '+'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless the key is the one that the changelog was made with. -#}
{% macro require_same_key(changelog, unique_key) -%}
    {%- set came = trueup._column_list(unique_key) -%}
    {%- set property = 'show tblproperties ' ~ changelog ~ " ('trueup.unique_key')" -%}
    {%- set expected = run_query(property).rows[0][1] -%}
    {%- if came != expected -%}
        {%- do trueup._refuse(
            'Config `unique_key` of ' ~ model.name, 'the key that ' ~ changelog ~ ' was made with: '
            ~ expected, came,
            'Another key makes another collection: put it back, or start again from the log with'
            ~ " --full-refresh and --vars '{trueup_rebase: true}'."
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless the commands have the columns that the shard was made with, in any order. -#}
{% macro _require_same_columns(commands, columns, shard_columns) -%}
    {%- set came = trueup._described(columns) -%}
    {%- set expected = trueup._described(shard_columns) -%}
    {%- if came != expected -%}
        {%- do trueup._refuse(
            'The key and value columns of ' ~ commands,
            'those that its changelog was made with: ' ~ (expected | join(', ')),
            came | join(', '),
            'Changing them is not supported yet: put them back, or start again from the log with'
            ~ " --full-refresh and --vars '{trueup_rebase: true}'."
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Names and types, sorted. Iceberg stores the smaller integers as int, so they count as such. -#}
{% macro _described(columns) -%}
    {%- set described = [] -%}
    {%- for column in columns -%}
        {%- set type = modules.re.sub('\\b(tinyint|smallint)\\b', 'int', column.type) -%}
        {%- do described.append(column.name ~ ' ' ~ type) -%}
    {%- endfor -%}
    {{ return(described | sort) }}
{%- endmacro %}
