{#- The two relations that a run makes: the store, and the view of its rows. -#}

{#- The statement that makes the store, with batch row 0. If the store exists, it does nothing. -#}
{% macro _create_store_sql(collection, notes) -%}
    {%- set own = {'trueup.owner': model.unique_id} -%}
    {%- if trueup._file_format() == 'iceberg' -%}
        {%- do own.update({'write.merge.distribution-mode': 'none'}) -%}
    {%- endif -%}
    {{ return(trueup._create_table_sql(
    collection.store,
    'select ' ~ trueup._empty_store_items(collection, {
        '_kind': "'batch'", '_seq': '0', '_ts': '0',
        '_batch': trueup._literal(tojson(dict(notes, order_type=collection.order_type))),
    }),
    partition_by='_kind',
    own_properties=own
)) }}
{%- endmacro %}


{#-
    The columns of the store follow those of the SELECT, as far as the option `on_schema_change` allows. Returns the
    collection with the columns that the store has then, and the statements for it. `newest` is the newest batch.
-#}
{% macro _followed_store(collection, stored, newest) -%}
    {%- set own = trueup._store_own_columns(collection) | list -%}
    {%- set there = stored | rejectattr('name', 'in', own) | list -%}
    {%- set changes = trueup._schema_changes(collection.columns, there) -%}
    {%- set texts = trueup._noted_text_types(there, newest.get('columns')) -%}
    {%- for column in there if column.type == 'string' and newest.get('columns') and column.name | lower in collection.given_types -%}
        {%- set type, old_type = collection.given_types[column.name | lower], texts.get(column.name | lower, 'string') -%}
        {%- if type != old_type and (type in collection.texts.values() or old_type != 'string') -%}
            {%- do changes.changed.append({'name': column.name, 'type': type, 'old_type': old_type}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do trueup._require_followable(collection, changes, newest) -%}
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
            texts=dict(texts, **collection.texts),
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


{#-
    Raises if the store cannot follow the columns of the SELECT, or if an option forbids it. If the key has changed, too, the error
    says both. A key that has changed alone is refused with the order.
-#}
{% macro _require_followable(collection, changes, newest) -%}
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
    {%- if collection.is_log and newest.order_type != collection.order_type -%}
        {%- do refused.append('sequence_by, which gave ' ~ newest.order_type ~ ' and gives ' ~ collection.order_type) -%}
    {%- endif -%}
    {#- In the list of `_order_of` the key comes first. -#}
    {%- set noted = newest.get('order') or [] -%}
    {%- set old_key = noted[:-2 if noted and noted[-1].startswith('truncate_scope: ') else -1] -%}
    {%- set has_other_key = old_key and old_key != collection.key -%}
    {%- if refused -%}
        {%- if has_other_key -%}
            {%- do refused.insert(0, 'unique_key, which was ' ~ (old_key | join(', ')) ~ ' and is ' ~ (collection.key | join(', '))) -%}
        {%- endif -%}
        {%- do trueup._raise_error(
            'The columns of ' ~ collection.name, 'those of its store ' ~ collection.store
            ~ ', or new ones, or wider ones that are not in the key (bigint for int, double for float, a decimal with more'
            ~ ' digits and the same scale)' ~ (', with option `on_schema_change: ' ~ mode ~ '`' if mode != 'append_new_columns' else ''),
            refused | join('; '),
            'Nothing is written. ' ~ ('Put `unique_key` back, and cast' if has_other_key else 'Cast')
            ~ ' the column back in the model. To begin again from the log, without the history: dbt run'
            ~ ' --full-refresh -s ' ~ collection.name ~ " --vars '{trueup_rebase: true}'."
        ) -%}
    {%- endif -%}
{%- endmacro %}
