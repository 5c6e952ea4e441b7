{#-
    What a collection is: the object that the macros of this folder pass on.

    `name`, `store`, `view`     the model, its table and its view
    `key`, `value_names`, `columns`  names of key and value columns; all of them with `name` and `type`, as the store has them
    `given_types`               the types of the columns in this run's SELECT, by name in lower case; the store may have wider ones
    `is_log`, `is_partial`      whether the SELECT gives commands; whether they may leave columns unchanged
    `texts`                     the types of the columns that the store keeps as texts, by name in lower case: see `texts.sql`
    `has_ticks`                 whether the commands have ticks of their own (`ts`)
    `has_place`                 whether the commands say where their messages lie in the log (`reclock`)
    `has_snapshots`             whether the commands say which of them is the first of a snapshot
    `order_type`                the type of `_order`
    `options`                   the value of every option
    `has_store`                 whether the store exists
-#}
{% macro _get_store_collection(described) -%}
    {%- set key = trueup._unique_key_of_model() -%}
    {%- set names = described | map(attribute='name') | list -%}
    {%- set is_log = '_order' in names and '_op' in names -%}
    {%- set given = described | rejectattr('name', 'in', trueup._command_columns() if is_log else ['_error']) | list -%}
    {%- set types = {} -%}
    {%- for column in given -%}
        {%- do types.update({column.name | lower: column.type}) -%}
    {%- endfor -%}
    {%- set order = described | selectattr('name', 'eq', '_order') | map(attribute='type') | first if is_log else 'struct<_epoch:int,_1:bigint>' -%}
    {%- do trueup._require_key_columns(key, given) -%}
    {%- do trueup._require_user_columns(given, key, source='The SELECT of ' ~ model.name) -%}
    {%- set texts, columns = trueup._text_types(given), [] -%}
    {%- for column in given -%}
        {%- do columns.append({'name': column.name, 'type': 'string' if column.name | lower in texts else column.type}) -%}
    {%- endfor -%}
    {%- do trueup._require_storable_columns(columns) -%}
    {%- set options = trueup._store_options('ticks' if is_log and '_ts' in names else 'log' if is_log else 'select') -%}
    {%- do trueup._require_places(options, names, order) -%}
    {%- do trueup._require_comparable_scope(options, given) -%}
    {{ return({
        'name': model.name,
        'view': this.incorporate(type='view'),
        'store': trueup._store_of(this),
        'key': key,
        'value_names': given | map(attribute='name') | reject('in', key) | list,
        'columns': columns,
        'texts': texts,
        'given_types': types,
        'is_log': is_log,
        'has_ticks': is_log and '_ts' in names,
        'has_place': is_log and '_place' in names,
        'has_error': '_error' in names,
        'is_partial': '_unchanged' in names,
        'has_old_key': '_old_key' in names,
        'unchanged_value': '_unchanged_value' in names,
        'has_snapshots': '_is_first' in names,
        'order_type': trueup._stored_type(order),
        'options': options,
        'has_store': load_relation(trueup._store_of(this)) is not none,
    }) }}
{%- endmacro %}


{#- Raises if an option decides by the places of the messages, and the commands have none or say more than the option can use. -#}
{% macro _require_places(options, names, order) -%}
    {%- for option, value, field in [('null_order', 'arrival', '_arrival'), ('ties', 'place', '_contents')] if options[option] == value -%}
        {%- set missing = 'without `reclock` in `trueup.commands`' if '_place' not in names or field ~ ':' not in order
            else 'with `ts` in `trueup.commands`' if '_ts' in names else 'with `old_key` in `trueup.commands`' if '_old_key' in names
            else 'with columns that stay unchanged' if '_unchanged' in names and value == 'place'
            else 'with `order_epoch`' if options.order_epoch and value == 'arrival' -%}
        {%- if missing -%}
            {%- do trueup._raise_option_error(
                option, 'another one, unless the commands have `reclock` and neither `ts` nor `old_key`'
                ~ (', and none leaves a column unchanged' if value == 'place' else ', and `order_epoch` is 0'), value ~ ', ' ~ missing
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    Raises unless each column of `truncate_scope` has a text that no setting changes: the batch row keeps it. The sequence of
    arrival knows no scopes.
-#}
{% macro _require_comparable_scope(options, columns) -%}
    {%- for column in columns if column.name in options.truncate_scope -%}
        {%- if column.type not in ['string', 'tinyint', 'smallint', 'int', 'bigint'] -%}
            {%- do trueup._raise_option_error(
                'truncate_scope', 'a list of columns with texts or whole numbers', column.name ~ ' ' ~ column.type
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if options.truncate_scope and options.null_order == 'arrival' -%}
        {%- do trueup._raise_option_error('truncate_scope', 'left out: it does not go with `null_order: arrival`', options.truncate_scope) -%}
    {%- endif -%}
{%- endmacro %}


{#- The columns of a SELECT that make its rows commands, or errors. -#}
{% macro _command_columns() -%}
    {{ return(['_order', '_op', '_error', '_error_key', '_unchanged', '_unchanged_value', '_old_key', '_place', '_ts', '_is_first']) }}
{%- endmacro %}


{#- Raises unless the SELECT has the key columns and at least one value column. -#}
{% macro _require_key_columns(key, columns) -%}
    {%- set found = columns | map(attribute='name') | list -%}
    {%- for name in key if name not in found -%}
        {%- do trueup._raise_error(
            'Each column of config `unique_key` of ' ~ model.name, 'a column of its SELECT (' ~ (found | join(', ')) ~ ')',
            name, trueup._config_next_step()
        ) -%}
    {%- endfor -%}
    {%- if found | length == key | length -%}
        {%- do trueup._raise_error(
            'The SELECT of ' ~ model.name, 'one with at least one column that is not in the key', found | join(', ')
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if a key or value column has one of our names, or a type that the store cannot hold. -#}
{% macro _require_user_columns(columns, key, source=none) -%}
    {%- set subject = source or '`trueup.commands` in ' ~ model.name -%}
    {%- set subject = subject ~ ': a key or value column' -%}
    {%- set place = source or 'the relation that `trueup.commands` reads' -%}
    {%- for column in columns -%}
        {%- if trueup._own_name_like(column.name) -%}
            {%- do trueup._raise_error(
                subject, "named other than trueup's own columns, such as " ~ trueup._own_name_like(column.name),
                column.name, 'Rename it in ' ~ place ~ '.'
            ) -%}
        {%- endif -%}
        {%- if '${' in column.name or '${' in column.type -%}
            {%- do trueup._raise_error(
                subject, 'named without `${`, which Spark replaces in SQL text, and so its fields',
                column.name ~ ' ' ~ column.type, 'Rename it in ' ~ place ~ '.'
            ) -%}
        {%- endif -%}
        {%- set is_text = trueup._is_kept_as_text(column.type) -%}
        {%- if is_text and (column.name in key or modules.re.search('map<(?!string,)|(^|[:<,])(interval[a-z ]*|void)($|[,>])', column.type)) -%}
            {%- do trueup._raise_error(
                subject, 'a value, if it has a map or a variant; the keys of a map must be strings', column.name ~ ' ' ~ column.type,
                'Turn it into a string with to_json, or the keys of the map into strings with transform_keys, in ' ~ place ~ '.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    Raises for columns that the tables would take, but that no later run could write:

    - those whose type has no digest, such as `void`, the type of `null as x`;
    - on Delta those with a backquote in their name, which its MERGE does not escape, and those whose name needs the property
      `delta.columnMapping.mode`.
-#}
{% macro _require_storable_columns(columns) -%}
    {%- for column in columns -%}
        {%- do trueup._parsed_type(column.type, column) -%}
        {%- set is_delta = trueup._file_format() == 'delta' -%}
        {%- set mapping = (config.get('tblproperties') or {}).get('delta.columnMapping.mode') -%}
        {%- if is_delta and not mapping and modules.re.search('[ ,;{}()\n\t=]', column.name) -%}
            {%- do trueup._raise_error(
                'A key or value column of a collection on Delta',
                'named without a blank and without the signs , ; { } ( ) =, unless Delta maps the names of columns', column.name,
                "Nothing is written. Set `+tblproperties: {delta.columnMapping.mode: name}` of the collection, or rename the column."
            ) -%}
        {%- elif is_delta and '`' in column.name -%}
            {%- do trueup._raise_error(
                'A key or value column of a collection on Delta',
                'named without a backquote, because the MERGE of Delta cannot write it', column.name,
                'Nothing is written. Give the column another name in the relation that the commands read, or in the'
                ~ ' SELECT.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}
