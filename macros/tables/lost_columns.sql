{#-
    Columns that somebody has dropped from a state. On Iceberg no snapshot of the table shows that. A run adds such a
    column again, but the values are gone until the state is healed.
-#}

{#- The columns among `names` that have a value in any update of a changelog, as a list of names. -#}
{% macro _get_columns_with_values(changelog, names) -%}
    {%- set terms, found = [], [] -%}
    {%- for name in names -%}
        {%- do terms.append('coalesce(bool_or(' ~ trueup._quoted(name) ~ ' is not null), false)') -%}
    {%- endfor -%}
    {%- set row = run_query(
        'select ' ~ (terms | join(', ')) ~ ' from ' ~ changelog ~ " where _kind = 'update'"
    ).rows[0] if terms else [] -%}
    {%- for name in names -%}
        {%- if row[loop.index0] -%}
            {%- do found.append(name) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}


{#-
    Raises if columns that the state has lost would come back empty in a model that does not verify it: then a batch
    would take nulls for the values of its keys. The model of the corrections adds them, and then scans the state.
-#}
{% macro _require_scan_in_this_model(collection, lost) -%}
    {%- set corrections = collection.name ~ '_corrections' -%}
    {%- if model.name != corrections
            and trueup._sibling_options(collection, 'corrections').verify != 'never' -%}
        {%- do trueup._raise_error(
            'The columns of ' ~ collection.state, 'those of its changelog', 'a table without ' ~ (lost | join(', ')),
            'Nothing is staged. Another run may be adding a column: run again. If the error stays, somebody has dropped'
            ~ ' it from the state. The corrections add it again, with its values: dbt run -s ' ~ corrections ~ '+.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
