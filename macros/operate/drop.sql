{#-
    Drops the store and the view of a collection whose model is gone. Without `confirm: true` it only says what it would drop.
    `name` is the name of the view, with its schema if it is not that of the target. The view goes first, so a call that is
    killed can be repeated.

    An operation: `dbt run-operation trueup.drop --args '{name: orders, confirm: true}'`.
-#}
{% macro drop(name, confirm=false) -%}
    {%- set view = trueup._given_relation('drop', 'name', name, {'schema': target.schema, 'database': none}) -%}
    {%- set store = trueup._store_of(view) -%}
    {%- if load_relation(store) is none -%}
        {%- do trueup._raise_error(
            trueup._argument('drop', 'name'), 'the name of a collection that has run', name ~ ', without the table ' ~ store,
            'Nothing is dropped. Correct the name.'
        ) -%}
    {%- endif -%}
    {%- set owner = trueup._get_properties(store).get('trueup.owner') -%}
    {%- do trueup._require_model_is_gone(store, owner) -%}
    {%- set newest = trueup._get_newest_batch({'store': store, 'has_store': true}) -%}
    {%- set what = store ~ ' of ' ~ owner ~ ', with the history of ' ~ newest.seq ~ ' batches, and the view ' ~ view -%}
    {%- if confirm is not boolean or not confirm -%}
        {%- do trueup._raise_error(
            trueup._argument('drop', 'confirm'), 'true to drop ' ~ what, confirm,
            'Nothing is dropped. The history cannot be made again.'
        ) -%}
    {%- endif -%}
    {%- do run_query(trueup._step_marker('drop') ~ '\ndrop view if exists ' ~ view) -%}
    {%- do run_query(trueup._step_marker('drop') ~ '\ndrop table ' ~ store) -%}
    {%- do log('Dropped ' ~ what ~ '.', info=true) -%}
{%- endmacro %}
