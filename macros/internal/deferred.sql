{#-
    `--defer`: dbt lets `ref` read a model of another schema where this one does not have it, or with
    `--favor-state` where it is not selected. The tables of one collection belong together, so none
    of them may be deferred; what a collection is made of may be.
-#}

{#- Raises where `ref` reads a model of this collection in another schema than the one it writes. -#}
{% macro _require_not_deferred(collection, roles) -%}
    {%- for role in roles -%}
        {%- set here = trueup._sibling(collection, role) -%}
        {%- set found = ref(collection ~ '_' ~ role) -%}
        {%- if found.render() != here.render() -%}
            {%- do trueup._raise_error(
                'The model ' ~ collection ~ '_' ~ role ~ ', which ' ~ model.name ~ ' reads,',
                here.render() ~ ', for the tables of a collection belong together',
                found.render() ~ ', by --defer',
                'Run the whole collection: dbt run -s ' ~ collection ~ '_'
                ~ trueup._source_role(collection) ~ '+'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- Whether `ref` reads a node of the graph in another schema, by the rule of dbt. -#}
{% macro _get_is_deferred(node_id) -%}
    {%- set node = graph.nodes.get(node_id, {}) -%}
    {%- if not (node.get('defer_relation') and invocation_args_dict.get('defer')) -%}
        {{ return(false) }}
    {%- elif invocation_args_dict.get('favor_state') and node_id not in selected_resources -%}
        {{ return(true) }}
    {%- endif -%}
    {{ return(load_relation(trueup._relation_of_node(node)) is none) }}
{%- endmacro %}


{#- The relation of a node of the graph, or of what a node is deferred to. -#}
{% macro _relation_of_node(node) -%}
    {{ return(api.Relation.create(
        database=node.database, schema=node.schema, identifier=node.alias, type='table'
    )) }}
{%- endmacro %}
