{#- The store: one table with the history and the current rows of a collection. See docs/decisions. -#}

{#- The store of a collection, by the relation of its view. -#}
{% macro _store_of(relation) -%}
    {{ return(relation.incorporate(path={'identifier': relation.identifier ~ '__trueup'}, type='table')) }}
{%- endmacro %}


{#- Its own columns, by name: they come first. -#}
{% macro _store_own_columns(collection) -%}
    {%- set columns = {
        '_kind': 'string', '_seq': 'bigint', '_ts': 'bigint', '_diff': 'int', '_cause': 'string', '_error_kind': 'string',
        '_error_key': 'string', '_error': 'string', '_order': 'string', '_digest': 'bigint', '_length': 'bigint',
        '_delete_order': 'string', '_orders': 'string', '_batch': 'string',
    } -%}
    {{ return(columns) }}
{%- endmacro %}


{#-
    The columns of a store that hold orders: the types that they have in our statements, by name. In the store they are texts,
    as `row_bytes_expr` makes them, because Iceberg reads a table with nested columns row by row, and not in vectors.
-#}
{% macro _order_columns(collection) -%}
    {%- set order = collection.order_type -%}
    {%- set of_column = 'struct<_order:' ~ order ~ ',_error:string,_error_kind:string,_value:string>' -%}
    {{ return({
        '_order': order, '_delete_order': order, '_orders': 'array<struct<key:string,value:' ~ of_column ~ '>>',
    }) }}
{%- endmacro %}


{#- The text of an order, or of the orders of columns (a map), as the store has it. Equal ones have equal texts. -#}
{% macro _order_text_expr(collection, name, value) -%}
    {%- set type, parts = trueup._parsed_type(trueup._order_columns(collection)[name]), [] -%}
    {%- if name == '_orders' -%}
        {%- do parts.append(trueup._encode_expr('array_sort(map_entries(' ~ value ~ '))', type)) -%}
    {%- else -%}
        {%- for field in type.fields -%}
            {%- do parts.append(trueup._encode_expr(value ~ '.' ~ field.name, field.type)) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return('if(' ~ value ~ ' is null, null, concat_ws(char(2), ' ~ (parts | join(', ')) ~ '))') }}
{%- endmacro %}


{#- What `_order_text_expr` has made a text of. -#}
{% macro _order_from_text_expr(collection, name, text) -%}
    {%- set type = trueup._parsed_type(trueup._order_columns(collection)[name]) -%}
    {%- set value = 'map_from_entries(' ~ trueup._decode_expr(text, type, 0) ~ ')' if name == '_orders'
        else trueup._decode_struct_expr(text, type.fields) -%}
    {{ return('if(' ~ text ~ ' is null, null, ' ~ value ~ ')') }}
{%- endmacro %}


{#- The names of all columns of the store. -#}
{% macro _store_names(collection) -%}
    {{ return(trueup._store_own_columns(collection) | list + collection.key + collection.value_names) }}
{%- endmacro %}


{#-
    The rows of the store, for a `from`: with orders in the form in which they are compared. Those of columns stay texts unless
    the log has partial commands. If there is no store yet, it has no rows.
-#}
{% macro _stored_relation(collection) -%}
    {%- set names, items = ['_order'] + (['_delete_order', '_orders'] if collection.is_partial else []), [] -%}
    {%- for name in names -%}
        {%- do items.append(trueup._order_from_text_expr(collection, name, name) ~ ' as ' ~ name) -%}
    {%- endfor -%}
    {%- set rows = collection.store if collection.has_store
        else trueup._subquery('select ' ~ trueup._empty_store_items(collection) ~ ' where false') -%}
    {{ return(trueup._subquery('select * except (' ~ (names | join(', ')) ~ '), ' ~ (items | join(', ')) ~ ' from ' ~ rows)) }}
{%- endmacro %}


{#- The columns of the store as items of a select, null each. -#}
{% macro _empty_store_items(collection, given={}) -%}
    {%- set items = [] -%}
    {%- for name, type in trueup._store_own_columns(collection).items() -%}
        {%- do items.append('cast(' ~ given.get(name, 'null') ~ ' as ' ~ type ~ ') as ' ~ name) -%}
    {%- endfor -%}
    {%- for name in collection.key + collection.value_names -%}
        {%- set type = (collection.columns | selectattr('name', 'eq', name) | first).type -%}
        {%- do items.append('cast(null as ' ~ trueup._sql_type(type) ~ ') as ' ~ trueup._quoted(name)) -%}
    {%- endfor -%}
    {{ return(items | join(',\n    ')) }}
{%- endmacro %}


{#- The statement that makes the view of a collection. -#}
{% macro _create_view_sql(collection) -%}
{{ trueup._step_marker('create') }}
{{ get_create_view_as_sql(collection.view, trueup._rows_select(collection)) }}
{%- endmacro %}


{#- The rows of a collection. -#}
{% macro _rows_select(collection) -%}
select
    {%- for name in collection.key + collection.value_names %}
    {%- set type = collection.texts.get(name | lower) %}
    {{ trueup._from_json_text_expr(trueup._quoted(name), type) ~ ' as ' if type }}{{ trueup._quoted(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ collection.store }}
where _kind = 'row'
{%- endmacro %}


{#- The kinds of the current rows, as a list of literals. -#}
{% macro _current_kinds() -%}
    {{ return("'row', 'error', 'tombstone'") }}
{%- endmacro %}
