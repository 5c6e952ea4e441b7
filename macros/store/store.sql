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


{#- The statement that makes the store, with batch row 0. If the store exists, it does nothing. -#}
{% macro _create_store_sql(collection, notes) -%}
    {%- set own = {'trueup.owner': model.unique_id} -%}
    {%- if trueup._file_format() == 'iceberg' -%}
        {%- do own.update({'write.merge.distribution-mode': 'none'}) -%}
    {%- endif -%}
    {{ return(trueup._create_table_sql(
    collection.store,
    'select ' ~ trueup._empty_store_items(collection, {
        '_kind': "'batch'", '_seq': '0', '_ts': '0', '_batch': trueup._literal(tojson(notes)),
    }),
    partition_by='_kind',
    own_properties=own
)) }}
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


{#-
    The columns of the store follow those of the SELECT, as far as the option `on_schema_change` allows. Returns the
    collection with the columns that the store has then, and whether any changed.
-#}
{% macro _followed_store(collection, stored) -%}
    {%- set own = trueup._store_own_columns(collection) | list -%}
    {%- set there = stored | rejectattr('name', 'in', own) | list -%}
    {%- set changes = trueup._schema_changes(collection.columns, there) -%}
    {%- do trueup._require_followable(collection, changes, stored) -%}
    {%- set added = changes.added if collection.options.on_schema_change == 'append_new_columns' else [] -%}
    {%- set columns = [] -%}
    {%- for column in there -%}
        {%- set wider = changes.widened | selectattr('name', 'eq', column.name) | first -%}
        {%- do columns.append({'name': column.name, 'type': wider.type if wider else column.type}) -%}
    {%- endfor -%}
    {%- set columns = columns + added -%}
    {{ return({
        'collection': dict(
            collection,
            columns=columns,
            value_names=columns | map(attribute='name') | reject('in', collection.key) | list,
        ),
        'statements': trueup._alter_store_sqls(collection, added, changes.widened, stored),
    }) }}
{%- endmacro %}


{#- The statements that bring the store to the columns of the collection. -#}
{% macro _alter_store_sqls(collection, added, widened, stored) -%}
    {%- set statements = [] -%}
    {%- set alter = trueup._step_marker('alter') ~ '\nalter table ' ~ collection.store -%}
    {%- set names = stored | map(attribute='name') | list -%}
    {%- for name, type in trueup._store_own_columns(collection).items() if name not in names -%}
        {%- do statements.append(alter ~ ' add column ' ~ name ~ ' ' ~ type) -%}
    {%- endfor -%}
    {%- for column in added -%}
        {%- do statements.append(
            alter ~ ' add column ' ~ trueup._quoted(column.name) ~ ' ' ~ trueup._sql_type(trueup._stored_type(column.type))
        ) -%}
    {%- endfor -%}
    {%- for column in widened -%}
        {%- do statements.append(alter ~ ' alter column ' ~ trueup._quoted(column.name) ~ ' type ' ~ trueup._sql_type(column.type)) -%}
    {%- endfor -%}
    {{ return(statements) }}
{%- endmacro %}


{#- Raises if the store cannot follow the columns of the SELECT, or if an option forbids it. -#}
{% macro _require_followable(collection, changes, stored) -%}
    {%- set mode, refused = collection.options.on_schema_change, [] -%}
    {%- set key = collection.key | map('lower') | list -%}
    {%- for column in changes.changed + changes.widened
            if column in changes.changed or column.name | lower in key or mode != 'append_new_columns' or column.old_type == 'date' -%}
        {%- do refused.append(trueup._type_change(column)) -%}
    {%- endfor -%}
    {%- for column in changes.added if mode == 'fail' -%}
        {%- do refused.append(column.name ~ ', which is new') -%}
    {%- endfor -%}
    {%- for column in changes.dropped if mode == 'fail' or column.name | lower in key -%}
        {%- do refused.append(column.name ~ ', which is missing') -%}
    {%- endfor -%}
    {%- set order = stored | selectattr('name', 'eq', '_order') | map(attribute='type') | first -%}
    {%- if collection.is_log and order != collection.order_type -%}
        {%- do refused.append('sequence_by, which gave ' ~ order ~ ' and gives ' ~ collection.order_type) -%}
    {%- endif -%}
    {%- if refused -%}
        {%- do trueup._raise_error(
            'The columns of ' ~ collection.name, 'those of its store ' ~ collection.store
            ~ ', or new ones, or wider ones that are not in the key (bigint for int, double for float, a decimal with more'
            ~ ' digits and the same scale)' ~ (', with option `on_schema_change: ' ~ mode ~ '`' if mode != 'append_new_columns' else ''),
            refused | join('; '),
            'Nothing is written. Cast the column back in the model. To begin again from the log, without the history: dbt run'
            ~ ' --full-refresh -s ' ~ collection.name ~ " --vars '{trueup_rebase: true}'."
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The kinds of the current rows, as a list of literals. -#}
{% macro _current_kinds() -%}
    {{ return("'row', 'error', 'tombstone'") }}
{%- endmacro %}


{#- The epoch of rows that were there before the log. -#}
{% macro _adopted_epoch() -%}
    {{ return('-2147483648') }}
{%- endmacro %}


{#- What the row of a key says whose newest commands are a tie. -#}
{% macro _tie_text() -%}
    {{ return('two commands of this key have the same order and another content') }}
{%- endmacro %}


{#- What the error of a key says that has a command without an order. -#}
{% macro _order_error_text() -%}
    {{ return('a command of this key has no order') }}
{%- endmacro %}


{#- The type of `_orders`. -#}
{% macro _orders_type(collection) -%}
    {{ return(
        'map<string, struct<_order: ' ~ trueup._sql_type(collection.order_type)
        ~ ', _error: string, _error_kind: string, _value: string>>'
    ) }}
{%- endmacro %}
