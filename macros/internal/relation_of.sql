{#- The tables of a collection, for macros that belong to none of its models: operations and expectations. -#}

{#-
    The table of a role of a collection. If it does not exist, it raises an error for the argument of
    `macro`.
-#}
{% macro _get_relation_of(collection, role, macro) -%}
    {%- set relation = trueup._named_relation(collection, collection ~ '_' ~ role, macro) -%}
    {%- if load_relation(relation) is none -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, 'collection'), 'the name of a collection that has run',
            collection ~ ', without the table ' ~ relation,
            'Correct the name. Or run: dbt run -s +' ~ collection ~ '.'
        ) -%}
    {%- endif -%}
    {{ return(relation) }}
{%- endmacro %}


{#- The relation of the only model with a name. Otherwise it raises an error for the argument of `macro`. -#}
{% macro _named_relation(collection, name, macro) -%}
    {%- set found = trueup._enabled_models(name) -%}
    {%- if found | length != 1 -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, 'collection'), 'the name of one collection',
            collection ~ ': ' ~ (found | length) ~ ' enabled models are named ' ~ name,
            'Give the name of a collection as in `<name>_commands`; `dbt ls` lists the models.'
        ) -%}
    {%- endif -%}
    {{ return(api.Relation.create(
        database=found[0].database, schema=found[0].schema, identifier=found[0].alias
    )) }}
{%- endmacro %}


{#-
    The enabled models with a name. One of the root project hides those of other packages, as it does for `ref`.
-#}
{% macro _enabled_models(name) -%}
    {%- set found = graph.nodes.values()
        | selectattr('resource_type', 'eq', 'model') | selectattr('name', 'eq', name) | list -%}
    {{ return(found | selectattr('package_name', 'eq', project_name) | list or found) }}
{%- endmacro %}


{#- The role of the model that defines the rows of a collection, for a macro that belongs to none of its models. -#}
{% macro _source_role_of(collection) -%}
    {{ return('commands' if trueup._enabled_models(collection ~ '_commands') else 'desired') }}
{%- endmacro %}


{#- The key columns of a collection, as a list: from its folder, or from one of its models. -#}
{% macro _key_of_collection(collection) -%}
    {%- set keys = [] -%}
    {%- for role in ['', '_commands', '_desired', '_state', '_changelog'] -%}
        {%- for node in trueup._enabled_models(collection ~ role) -%}
            {%- do keys.append(trueup._names(node.config.unique_key)) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(keys | select | first | default([])) }}
{%- endmacro %}
