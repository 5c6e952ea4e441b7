{#- Checks before a collection gets an empty changelog. -#}

{#-
    Raises if there is a state with batches, but no changelog. An empty changelog would hide that the history is
    lost, and stand in the way of the table that somebody restores.
-#}
{% macro _require_no_applied_batch(collection) -%}
    {%- set state = load_relation(collection.state) -%}
    {%- set applied = 0 if state is none else trueup._get_applied_seq(state) -%}
    {%- if applied > 0 -%}
        {%- do trueup._raise_error(
            'The changelog of `' ~ collection.name ~ '`',
            'a table: its state has applied ' ~ applied ~ (' batches' if applied != 1 else ' batch'),
            'no table ' ~ collection.changelog,
            trueup._lost_changelog_advice(collection.name)
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- What to do if a changelog is missing that was there. -#}
{% macro _lost_changelog_advice(collection, source_role=none) -%}
    {{ return(
        'Restore the table from a snapshot or a backup. Or start again from the log; what the log no longer has is'
        ~ ' then lost: ' ~ trueup._rebase_command(collection, source_role)
    ) }}
{%- endmacro %}


{#-
    Raises if the view of a collection that has never run would take the place of a table. dbt would drop the
    table. Nothing is asked: dbt knows the relations of the schema.
-#}
{% macro _require_free_view(collection) -%}
    {%- set node = graph.nodes.get(trueup._model_id(collection)) -%}
    {%- if node is none or node.config.materialized != 'view' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set relation = load_relation(trueup._relation_of_node(node)) -%}
    {%- if relation is not none and relation.type == 'table' -%}
        {%- do trueup._raise_error(
            'The name of the view ' ~ relation, 'free: dbt would drop the table to make the view', 'a table',
            'Nothing is written. Make the collection of its rows: trueup adopt ' ~ relation
            ~ '. Or rename the table.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
