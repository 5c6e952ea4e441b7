{#-
    The collection with a description of its input, as another dict: `source`, `commands`,
    `command_columns`, `extras`, `arrived_type` and `order_type`. See docs/objects.md. If a SELECT defines
    the collection, this macro makes a session view that brings its rows into the form of commands.
-#}
{% macro _ensure_input(collection) -%}
    {%- set source = trueup._ensure_desired_rows_view(collection) if collection.is_by_select
        else trueup._sibling(collection.name, 'commands') -%}
    {%- set described = trueup._get_columns('select * from ' ~ source) -%}
    {%- set columns = trueup._user_columns(described) -%}
    {%- set extras = trueup._extra_columns(described) -%}
    {%- do trueup._require_free_name(collection.options.inline_errors, columns) -%}
    {{ return(dict(
        collection,
        source=source,
        commands=source,
        command_columns=columns,
        extras=extras,
        arrived_type=trueup._arrived_type(described),
        order_type=(described | selectattr('name', 'eq', '_order') | first).type
    )) }}
{%- endmacro %}
