{#- What the monitoring models share. -#}

{#- The collections that the monitoring models show: those of the var `trueup_collections`. -#}
{% macro _monitored_collections() -%}
    {%- set names = trueup._given_var('trueup_collections', ['files'] if project_name == 'trueup' else []) -%}
    {%- if names is string or names is mapping or names is not iterable or names | length -%}
        {%- do trueup._require_list(
            'Var `trueup_collections`', names, next_step='Correct it below `vars:` in dbt_project.yml.'
        ) -%}
    {%- endif -%}
    {{ return(names) }}
{%- endmacro %}


{#-
    The CTE `listed`: one row for each collection, even if it has no batch.

    Reads: nothing. Ends with: `listed`.
-#}
{% macro _listed_ctes(collections) -%}
listed as (

    select collection
    from values
        {%- for collection in collections %}
        ({{ trueup._literal(collection) }}){{ ',' if not loop.last }}
        {%- endfor %} as names (collection)

)
{%- endmacro %}


{#- The progress rows of one table for each collection. `tables` are these tables by collection. -#}
{% macro _progress_rows_select(tables) -%}
{% for collection, table in tables.items() -%}
select
    {{ trueup._literal(collection) }} as collection,
    _seq,
    _lower,
    _upper,
    _statistics,
    _certificate
from {{ table }}
where _kind = 'progress'
{{ 'union all' if not loop.last }}
{% endfor %}
{%- endmacro %}
