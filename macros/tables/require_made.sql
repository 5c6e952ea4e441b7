{#- The checks of the tables of a collection before a run writes to them. -#}

{#- Raises if a table that another model makes does not exist yet. -#}
{% macro _require_made(collection, relation, by) -%}
    {%- if load_relation(relation) is none -%}
        {%- do trueup._raise_error(
            model.name, 'run after ' ~ collection ~ '_' ~ by ~ ' has made ' ~ relation,
            'no such table', 'Run: dbt run -s ' ~ collection ~ '_' ~ by ~ '+'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless the changelog was made with the key of the collection. `properties` are those of its table. -#}
{% macro _require_same_key(collection, properties) -%}
    {%- set came = trueup._column_list(collection.unique_key) -%}
    {%- set expected = trueup._made_with(collection.changelog, properties, 'trueup.unique_key', came) -%}
    {%- if came != expected -%}
        {%- do trueup._raise_error(
            'Config `unique_key` of ' ~ collection.name, 'the key that ' ~ collection.changelog ~ ' was made with: '
            ~ expected, came,
            'Another key makes another collection: put it back, or start again from the log: '
            ~ trueup._rebase_command(collection.name)
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Raises unless the order has the types that the changelog was made with. Orders are compared only within
    a tick, but a tick may still be open. With `late: newest` and without ticks all orders of a key are
    compared. `properties` are those of the table of the changelog.
-#}
{% macro _require_same_order(collection, properties) -%}
    {%- set changelog, came = collection.changelog, collection.order_type -%}
    {%- set expected = trueup._made_with(changelog, properties, 'trueup.order', came) -%}
    {%- if came != expected -%}
        {%- set compares_all = collection.options.late == 'newest' and '_offset' in collection.extras -%}
        {%- do trueup._raise_error(
            'The order (`sequence_by`) of ' ~ model.name,
            'of the types that ' ~ changelog ~ ' was made with: ' ~ expected, came,
            'Put it back; or' ~ (
                ' start again from the log: ' ~ trueup._rebase_command(collection.name) if compares_all
                else ', if commands of an open tick may be compared again: '
                    ~ trueup._set_property_command(changelog, 'trueup.order', came)
            )
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The value of a property with which a changelog was made. Raises if it is missing. -#}
{% macro _made_with(changelog, properties, name, came) -%}
    {%- if name not in properties -%}
        {%- do trueup._raise_error(
            'The table ' ~ changelog, 'one with the property `' ~ name ~ '`', 'a table without it',
            'Somebody has replaced this table. If it is an exact copy of the changelog, and the configuration is'
            ~ ' as before, set the property: ' ~ trueup._set_property_command(changelog, name, came)
        ) -%}
    {%- endif -%}
    {{ return(properties[name]) }}
{%- endmacro %}


{#- The command that sets a property of a table, for use in messages. -#}
{% macro _set_property_command(table, name, value) -%}
    {{ return('alter table ' ~ table ~ ' set tblproperties (' ~ trueup._literal(name) ~ ' = '
        ~ trueup._literal(value) ~ ').') }}
{%- endmacro %}
