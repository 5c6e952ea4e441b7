{#-
    Hands a store over to a model that was renamed, or got another alias or schema. `old_name` is the name that the view had, with
    its schema if it is another one. Each of the statements may be killed: the next call goes on.

    An operation: `dbt run-operation trueup.rename --args '{collection: orders, old_name: purchases}'`.
-#}
{% macro rename(collection, old_name) -%}
    {%- set node = trueup._node_of_collection('rename', collection) -%}
    {%- set new = trueup._relation_of_node(node) -%}
    {%- set old = trueup._given_relation('rename', 'old_name', old_name, node) -%}
    {%- set old_store, new_store = trueup._store_of(old), trueup._store_of(new) -%}
    {%- set next = 'Nothing is done. Call it again with the name that the collection had.' -%}
    {%- if old | string == new | string -%}
        {%- do trueup._raise_error(trueup._argument('rename', 'old_name'), 'another name than that of the model', old_name, next) -%}
    {%- endif -%}
    {%- set is_moved = load_relation(old_store) is none -%}
    {%- if is_moved and load_relation(new_store) is none -%}
        {%- do trueup._raise_error(
            trueup._argument('rename', 'old_name'), 'the name of a collection that has run',
            old_name ~ ', without the table ' ~ old_store, next
        ) -%}
    {%- elif not is_moved and load_relation(new_store) is not none -%}
        {%- do trueup._raise_error(
            'The name ' ~ new_store, 'free for the store of ' ~ old_name, 'a table',
            'Nothing is done. The model has run under its new name. If its store may go: dbt run-operation trueup.drop.'
        ) -%}
    {%- endif -%}
    {%- set store = new_store if is_moved else old_store -%}
    {%- set owner = trueup._get_isolated_properties(store).get('trueup.owner') -%}
    {%- if is_moved -%}
        {#- A call that was killed has left only the view. -#}
        {%- do trueup._require_owner(store, {'trueup.owner': owner}, node.unique_id) -%}
    {%- elif owner != node.unique_id -%}
        {%- do trueup._require_model_is_gone(store, owner) -%}
        {%- do run_query(
            trueup._step_marker('alter') ~ '\nalter table ' ~ store ~ " set tblproperties ('trueup.owner' = "
            ~ trueup._literal(node.unique_id) ~ ')'
        ) -%}
    {%- endif -%}
    {%- if not is_moved -%}
        {%- do run_query(
            trueup._step_marker('alter') ~ '\nalter table ' ~ old_store ~ ' rename to ' ~ new_store.include(database=false)
        ) -%}
    {%- endif -%}
    {%- set moved = trueup._get_collection_of_store(new_store, node) -%}
    {%- do run_query(trueup._create_view_sql(moved)) -%}
    {%- do run_query(trueup._step_marker('drop') ~ '\ndrop view if exists ' ~ old) -%}
    {%- do log('The store ' ~ old_store ~ ' is now ' ~ new_store ~ ', of ' ~ node.unique_id ~ '.', info=true) -%}
{%- endmacro %}


{#- A relation that the user names: its identifier, after a schema if it is not that of the model. -#}
{% macro _given_relation(macro, argument, name, node) -%}
    {%- set parts = (name | string).split('.') -%}
    {%- if name is not string or not name.strip() or parts | length > 2 -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, argument), 'a name, or a schema and a name with a dot between', name,
            'Nothing is done. Call it again with such a name.'
        ) -%}
    {%- endif -%}
    {%- set schema = parts[0] if parts | length == 2 else node.schema -%}
    {{ return(api.Relation.create(
        database=schema if node.database else none, schema=schema, identifier=parts[-1], type='view'
    )) }}
{%- endmacro %}


{#- Raises if the model that owns a store is still in the project. -#}
{% macro _require_model_is_gone(store, owner) -%}
    {%- if owner in graph.nodes -%}
        {%- do trueup._raise_error(
            'The store ' ~ store, 'that of a model that is gone', 'that of ' ~ owner ~ ', which is still in the project',
            'Nothing is done. Remove or rename that model first.'
        ) -%}
    {%- elif not owner -%}
        {%- do trueup._raise_error(
            'The table ' ~ store, 'a store of trueup', 'a table without the property `trueup.owner`', 'Nothing is done.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
