{#- Raises if a table that another model makes does not exist yet. -#}
{% macro _require_made(collection, relation, by) -%}
    {%- if load_relation(relation) is none -%}
        {%- do trueup._raise_error(
            model.name, 'run after ' ~ collection ~ '_' ~ by ~ ' has made ' ~ relation,
            'no such table', 'Run: dbt run -s ' ~ collection ~ '_' ~ by ~ '+'
        ) -%}
    {%- endif -%}
{%- endmacro %}
