{#- The store: one table with the history and the current rows of a collection. See docs/decisions. -#}

{#- The store of a collection, by the relation of its view. -#}
{% macro _store_of(relation) -%}
    {{ return(relation.incorporate(path={'identifier': relation.identifier ~ '__trueup'}, type='table')) }}
{%- endmacro %}


{#- Its own columns, by name: they come first. -#}
{% macro _store_own_columns(collection) -%}
    {%- set columns = {
        '_kind': 'string', '_seq': 'bigint', '_ts': 'bigint', '_diff': 'int', '_cause': 'string', '_error_kind': 'string',
        '_error_key': 'string', '_error': 'string', '_order': trueup._sql_type(collection.order_type),
        '_digest': 'bigint', '_length': 'bigint', '_delete_order': trueup._sql_type(collection.order_type),
        '_orders': trueup._orders_type(collection), '_batch': 'string',
    } -%}
    {{ return(columns) }}
{%- endmacro %}


{#- The names of all columns of the store. -#}
{% macro _store_names(collection) -%}
    {{ return(trueup._store_own_columns(collection) | list + collection.key + collection.value_names) }}
{%- endmacro %}


{#- A relation with the columns of the store: the store, or one without rows if there is none yet. -#}
{% macro _stored_relation(collection) -%}
    {%- if collection.has_store -%}
        {{ return(collection.store) }}
    {%- endif -%}
    {{ return('(select ' ~ trueup._empty_store_items(collection) ~ ' where false)') }}
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
select {{ trueup._column_list(collection.key + collection.value_names) }}
from {{ trueup._stored_relation(collection) }}
where _kind = 'row'
{%- endmacro %}


{#- The kinds of the current rows, as a list of literals. -#}
{% macro _current_kinds() -%}
    {{ return("'row', 'error', 'tombstone'") }}
{%- endmacro %}


{#- The type of `_orders`. -#}
{% macro _orders_type(collection) -%}
    {{ return(
        'map<string, struct<_order: ' ~ trueup._sql_type(collection.order_type)
        ~ ', _error: string, _error_kind: string, _value: string>>'
    ) }}
{%- endmacro %}
