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
    {%- set expected = properties['trueup.unique_key'] -%}
    {%- if came != expected -%}
        {%- do trueup._raise_error(
            'Config `unique_key` of ' ~ model.name, 'the key that ' ~ collection.changelog ~ ' was made with: '
            ~ expected, came,
            'Another key makes another collection: put it back, or start again from the log: '
            ~ trueup._rebase_command(collection.name)
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Raises unless the order has the types that the changelog was made with. Orders are compared only within
    a tick, but a tick may still be open. `properties` are those of the table of the changelog.
-#}
{% macro _require_same_order(changelog, properties, order_type) -%}
    {%- set expected = properties['trueup.order'] -%}
    {%- if order_type != expected -%}
        {%- do trueup._raise_error(
            'The order (`sequence_by`) of ' ~ model.name,
            'of the types that ' ~ changelog ~ ' was made with: ' ~ expected, order_type,
            'Put it back; or, if commands of an open tick may be compared anew: alter table '
            ~ changelog ~ " set tblproperties ('trueup.order' = '" ~ order_type ~ "')."
        ) -%}
    {%- endif -%}
{%- endmacro %}
