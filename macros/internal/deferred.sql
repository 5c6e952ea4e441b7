{#-
    With `--defer` dbt lets `ref` read a model from another schema if this schema does not have it, or with
    `--favor-state` if the run does not select it. The tables of one collection belong together, so none of
    them may be deferred. The inputs of a collection may be deferred.
-#}

{#- Raises if `ref` reads a model of this collection from another schema than the one that the run writes. -#}
{% macro _require_not_deferred(collection, roles) -%}
    {%- for role in roles -%}
        {%- set here = trueup._sibling(collection, role) -%}
        {%- set found = trueup._ref(collection, role) -%}
        {%- if found.render() != here.render() -%}
            {%- do trueup._raise_error(
                'The model ' ~ collection ~ '_' ~ role ~ ', which ' ~ model.name ~ ' reads,',
                here.render() ~ ', because the tables of a collection belong together',
                found.render() ~ ', by --defer',
                'Run the whole collection: dbt run -s ' ~ collection ~ '_'
                ~ trueup._source_role(collection) ~ '+'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- Whether `ref` reads a node of the graph from another schema. It follows dbt's rule. -#}
{% macro _get_is_deferred(node_id) -%}
    {%- set node = graph.nodes.get(node_id, {}) -%}
    {%- if not (node.get('defer_relation') and invocation_args_dict.get('defer')) -%}
        {{ return(false) }}
    {%- elif invocation_args_dict.get('favor_state') and node_id not in selected_resources -%}
        {{ return(true) }}
    {%- endif -%}
    {{ return(load_relation(trueup._relation_of_node(node)) is none) }}
{%- endmacro %}


{#- The relation of a node of the graph. `node` may also be the `defer_relation` of a deferred node. -#}
{% macro _relation_of_node(node) -%}
    {{ return(api.Relation.create(
        database=node.database, schema=node.schema, identifier=node.alias, type='table'
    )) }}
{%- endmacro %}
