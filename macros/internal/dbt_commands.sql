{#- Commands of dbt that messages print. -#}

{#- The command that rebuilds a state from its changelog. -#}
{% macro _rebuild_command(collection) -%}
    {%- set name = collection ~ '_state' -%}
    {{ return(
        'dbt run --full-refresh -s ' ~ name
        ~ (' (without its config `full_refresh: false`)' if trueup._is_never_refreshed(name) else '')
    ) }}
{%- endmacro %}


{#- Whether dbt must never refresh a model of this package, by its config. -#}
{% macro _is_never_refreshed(name) -%}
    {%- set node = graph.nodes.get(trueup._model_id(name), {}) -%}
    {{ return(node.get('config', {}).get('full_refresh') is false) }}
{%- endmacro %}


{#-
    The command that starts a collection again from its log, for use in messages. Its history is dropped, but not
    that of the collections that read it.
-#}
{% macro _rebase_command(collection, source_role=none) -%}
    {{ return(
        'dbt run --full-refresh -s ' ~ trueup._written_models(collection, source_role)
        ~ " --vars '{trueup_rebase: true}'."
    ) }}
{%- endmacro %}


{#-
    The models of a collection that a run writes with, one by one, for a command in a message: a `+` would also
    select the collections that read this one. `source_role` is the role of the first, if no model of the collection
    asks.
-#}
{% macro _written_models(collection, source_role=none) -%}
    {%- set models = [] -%}
    {%- for role in [
        source_role or trueup._source_role(collection), 'corrections', 'batch', 'changelog', 'state'
    ] -%}
        {%- do models.append(collection ~ '_' ~ role) -%}
    {%- endfor -%}
    {{ return(models | join(' ')) }}
{%- endmacro %}
