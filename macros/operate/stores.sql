{#- The store of a collection for operations, which belong to no model. -#}

{#-
    The store of the model with a name, as a dict: the `collection`, the `newest` batch and the `properties`. Raises if there
    is none, or if it is the store of another model.
-#}
{% macro _get_operated_store(macro, name) -%}
    {%- set node = trueup._node_of_collection(macro, name) -%}
    {%- set store = trueup._store_of(trueup._relation_of_node(node)) -%}
    {%- if load_relation(store) is none -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, 'collection'), 'the name of a collection that has run', name ~ ', without the table ' ~ store,
            'Nothing is done. Correct the name, or run: dbt run -s ' ~ name ~ '.'
        ) -%}
    {%- endif -%}
    {#- The batch before the snapshot, as in a run. -#}
    {%- set collection = trueup._get_collection_of_store(store, node) -%}
    {%- set properties = trueup._get_isolated_properties(store) -%}
    {%- do trueup._require_owner(store, properties, node.unique_id) -%}
    {{ return({'collection': collection, 'newest': collection.newest, 'properties': properties}) }}
{%- endmacro %}


{#- The same, and it raises unless the rows and the history are as the newest batch has left them. -#}
{% macro _get_sound_store(macro, name) -%}
    {%- set found = trueup._get_operated_store(macro, name) -%}
    {%- set damage = trueup._get_damage(found.collection, found.collection.store, found.newest) -%}
    {%- if damage.history or damage.buckets -%}
        {%- do trueup._raise_error(
            'The store ' ~ found.collection.store, 'as batch ' ~ found.newest.seq ~ ' has left it', 'other rows',
            'Nothing is done. Let a run repair it first: dbt run -s ' ~ name ~ '.'
        ) -%}
    {%- endif -%}
    {{ return(found) }}
{%- endmacro %}


{#- The only model with a name and the materialization `trueup`. Otherwise it raises an error for the argument of `macro`. -#}
{% macro _node_of_collection(macro, name) -%}
    {%- set named = graph.nodes.values() | selectattr('resource_type', 'eq', 'model') | selectattr('name', 'eq', name) | list -%}
    {%- set found = named | selectattr('package_name', 'eq', project_name) | list or named -%}
    {%- if found | length != 1 or found[0].config.materialized != 'trueup' -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, 'collection'), 'the name of one model with the materialization `trueup`',
            name ~ (': ' ~ found | length ~ ' models' if found | length != 1 else ', a ' ~ found[0].config.materialized),
            'Nothing is done. `dbt ls -s config.materialized:trueup` lists them.'
        ) -%}
    {%- endif -%}
    {{ return(found[0]) }}
{%- endmacro %}
