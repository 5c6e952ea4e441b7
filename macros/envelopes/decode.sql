{#-
    The decoder of all forms of messages: a select of commands over a log of messages. `macro` is the macro of the form,
    `unknown` has the arguments that it does not have, and `given` has the others.
-#}
{% macro _decoded_commands_select(macro, unknown, given) -%}
    {%- do trueup._require_known_arguments(macro, unknown) -%}
    {{ return(trueup.commands(**trueup._decoded_arguments(macro, given, trueup._unique_key_of_model() if execute else []))) }}
{%- endmacro %}


{#- The arguments of `trueup.commands` for a log of messages, as a dict. While dbt parses, it does not know the key. -#}
{% macro _decoded_arguments(macro, given, unique_key) -%}
    {%- set kind = '_mongodb' if given.schema is mapping and '_id' in given.schema else '_flattened' if given.get('flattened') else '' -%}
    {%- set form = {
        'changes': none, 'old': 'cast(null as map<string, variant>)', 'key_fields': 'cast(null as map<string, variant>)',
        'op': "'upsert'", 'upsert': none, 'truncate': 'false', 'skip': 'false', 'partial': none, 'order': [], 'table': [], 'tags': [],
        'has_units': false, 'quoted': false, 'binary': 'base64', 'snapshot': none, 'source': none,
    } -%}
    {%- do form.update(trueup._forms()[macro ~ kind if macro == 'debezium' else macro]) -%}
    {%- do trueup._require_message_arguments(macro, form, given) -%}
    {%- set key, values = trueup._columns_of(macro, given.schema, unique_key) -%}
    {%- set is_partial = form.partial or 'unchanged_value' in given -%}
    {%- for argument in ['key', 'table', 'old_key', 'unchanged_value'] -%}
        {%- do given.update({argument: given.get(argument)}) -%}
    {%- endfor -%}
    {#- If the first table of a snapshot has one row, Debezium marks it as the first, but not as the last. -#}
    {{ return(dict(
        relation=trueup._subquery(trueup._decoded_select(form, given, key, values)),
        ts='_command.ts' if given.ts is not none else none,
        sequence_by=['_command.place'],
        delete_when="_command.op = 'delete'",
        truncate_when="_command.op = 'truncate'",
        columns=values | list,
        error='_command.error',
        error_key='_command.error_key',
        unchanged='_command.unchanged' if is_partial else none,
        old_key='_command.old_key' if is_partial else none,
        snapshot={
            'id': '_command.snapshot', 'start': ['_command.place'],
            'end': "_command.snapshot in ('last', 'last_in_data_collection') and _command.place is not null",
            'is_first': "case when _command.place is not null and _command.snapshot not in ('false', 'incremental') then _command.snapshot = 'first' end",
        } if given.get('snapshot') else none,
        reclock=['_command.message.topic', '_command.message.partition', '_command.message.offset'] if given.reclock else none,
    )) }}
{%- endmacro %}


{#-
    The decoded messages: the columns `key` and `values`, dicts of types, and a struct `_command` with the other inputs of
    `trueup.commands`. A change of key is two rows. A message without a command is none.
-#}
{% macro _decoded_select(form, given, key, values) -%}
    {#- The key of a message of Debezium identifies the row, also if it is broken. #}
    {%- set has_key = given.key is not none and form.has_units -%}
    {%- set texts = ['body'] + (['key_body'] if given.key else []) + (['old_key_body'] if given.old_key else []) -%}
    {%- set marks = trueup._forms_of_unchanged(given.unchanged_value) if given.unchanged_value else none -%}
    {%- set arguments = [given.value, given.key, given.ts, given.old_key] + (given.sequence_by or []) + (given.reclock or []) -%}
with messages as (
    select
        {{ given.ts or 'null' }} as log_ts,
        {{ trueup._message_place_expr(given.reclock) if given.reclock else 'null' }} as message_place
        {%- for name in texts %},
        {{ trueup._message_text_expr([given.value, given.key, given.old_key][['body', 'key_body', 'old_key_body'].index(name)]) }} as {{ name }}
        {%- endfor %}
        {%- for term in given.sequence_by or [] %},
        {{ term }} as log_{{ loop.index }}
        {%- endfor %}
    from {{ given.relation if trueup._has_subquery(arguments | join(', ')) else trueup._marked_log(given.relation) }}
    {%- set path = modules.re.match('[{]([a-z._]+) string[}]$', form.table[-1]) if given.table and not form.changes %}
    {%- if path %}
    -- To read only the name of the table takes less than a tenth of the time that it takes to parse a message.
    {%- set text = trueup._message_text_expr(given.value) %}
    {%- set name = trueup._literal(given.table.partition('.')[2] if form.table | length == 2 else given.table) %}
    where coalesce(
        get_json_object({{ text }}, '$.{{ path.group(1) }}'),
        if({{ text }} like '{"schema":%', get_json_object({{ text }}, '$.payload.{{ path.group(1) }}'), null),
        {{ name }}
    ) = {{ name }}
    {%- endif %}
),
pairs as (
    select
        *
        {%- for name in texts %},
        {{ trueup._json_pair_expr(name) }} as {{ name }}_pair
        {%- endfor %}
    from messages
),
opened as ( -- a converter of Kafka Connect may have put a schema beside the message
    {% set field = 'field string, name string, parameters map<string, string>' -%}
    select
        *,
        {{ trueup._payload_expr('body') }} as message
        {%- if has_key %},
        try_variant_get({{ trueup._payload_expr('key_body') }}, '$', 'map<string, variant>') as key_object
        {%- endif %}
        {%- if given.old_key %},
        try_variant_get({{ trueup._payload_expr('old_key_body') }}, '$', 'map<string, variant>') as old_key_object
        {%- endif %}
        {%- if form.has_units %},
        {#- The columns are in the field `after` of an envelope, or they are all fields. #}
        flatten(transform(
            try_variant_get(body_pair, '$[0].schema.fields', 'array<struct<{{ field }}, fields array<struct<{{ field }}>>>>'),
            _one -> case when _one.field = 'after' then _one.fields when _one.fields is null then array(named_struct(
                'field', _one.field, 'name', _one.name, 'parameters', _one.parameters
            )) else array() end
        )) as fields
        {%- endif %}
    from pairs
),
{% if form.source -%}
sourced as ( -- Spark loses fields of a struct if it prunes them below a generator, so they are columns
    select
        *
        {%- for name in form.source_fields %},
        source.{{ name }} as source_{{ name }}
        {%- endfor %}
    from (select *, {{ trueup._paths_expr(form.source, form) }} as source from opened)
),
{% endif -%}
{% if form.changes -%}
changes as (
    select * from opened lateral view posexplode({{ trueup._paths_expr(form.changes, form) }}) as nth, change
),
{% endif -%}
{% if given.table -%}
-- The other tables of the log are not decoded. Spark would move a filter below the steps before it, and parse each message for it again.
of_table as (
    select *
    from {{ 'changes' if form.changes else 'sourced' if form.source else 'opened' }}
    lateral view explode(if(
        coalesce(
            {%- if form.table | length == 2 %}
            concat(coalesce({{ trueup._paths_expr(form.table[0], form) }}, {{ trueup._literal(given.table.partition('.')[0]) }}), '.',
                {{ trueup._paths_expr(form.table[1], form) }})
            {%- else %}
            {{ trueup._paths_expr(form.table[0], form) }}
            {%- endif %} <> {{ trueup._literal(given.table) }},
            false
        ),
        cast(array() as array<boolean>),
        array(true)
    )) as is_of_table
),
{% endif -%}
read as (
    select
        *,
        {{ trueup._paths_expr(form.op, form) }} as word,
        {{ trueup._paths_expr(form.new, form) }} as new_fields,
        {{ trueup._paths_expr(form.old, form) }} as old_fields,
        body is null or coalesce(is_variant_null(message), false) as is_tombstone,
        {{ trueup._place_expr(form, given.sequence_by) }} as source_place
    from {{ 'of_table' if given.table else 'changes' if form.changes else 'sourced' if form.source else 'opened' }}
),
-- Rule: a tombstone repeats the delete before it. It is a command only if it has a key and an order of its own.
sided as (
    {% set has_place = "to_json(source_place) <> " ~ ("concat('{\"_nth\":', nth, '}')" if form.changes else "'{}'") -%}
    select
        *,
        coalesce({{ trueup._paths_expr(form.delete, form) }}, false) as is_delete,
        coalesce({{ trueup._paths_expr(form.truncate, form) }}, false) as is_truncate,
        case when {{ has_place }} then source_place end as place,
        {{ trueup._filled_expr('new_fields', 'old_fields') }} as all_fields,
        {{ 'coalesce(old_key_object, ' if given.old_key else '(' }}case when old_fields is not null then {{ trueup._filled_expr('old_fields', 'new_fields') }} end) as old_key_fields,
        {% if not has_key -%}
        {{ trueup._paths_expr(form.key_fields, form) if given.key is none else trueup._key_of_array_expr(key, form) }}
        {%- elif form.tags -%}
        -- Debezium's key of MongoDB has the value of `_id` in the field `id`, as JSON in a text.
        map('_id', coalesce(try_parse_json(try_variant_get(element_at(key_object, 'id'), '$', 'string')), element_at(key_object, 'id')))
        {%- else -%}
        key_object
        {%- endif %} as key_object_fields,
        {{ '(not is_tombstone or ' ~ has_place ~ ')' if has_key else 'not is_tombstone' }}
            and not coalesce({{ trueup._paths_expr(form.skip, form) }}, false) as is_command
    from read
),
parsed as (
    {% set row_fields = "case when word rlike '^(" ~ form.partial ~ ")$' then all_fields else new_fields end"
        if form.partial else 'new_fields' -%}
    {% set key_fields = 'key_object_fields' if has_key else trueup._filled_expr('all_fields', 'key_object_fields') -%}
    select
        *,
        {{ 'key_body' if has_key else trueup._key_json_expr(key_fields, key) }} as key_bytes,
        {{ trueup._cells_expr(key_fields, key, form) }} as key_cells,
        {{ trueup._cells_expr('old_key_fields', key, form) }} as old_key_cells,
        {{ trueup._cells_expr(row_fields, values, form, marks) }} as row_cells
    from sided
),
typed as (
    select
        *,
        {{ trueup._values_expr('key_cells', key, form) }} as key,
        {{ trueup._values_expr('old_key_cells', key, form) }} as before,
        {{ trueup._values_expr('row_cells', values, form) }} as row_values,
        exists(key_cells, _cell -> _cell.json is null) as is_key_cut
    from parsed
),
-- Rule: a change of key is a delete of the old key and an upsert of the new one. The values of both keys are in one
-- message. So if the new key is bad, it is another one than a good old key.
keyed as (
    {% set key_error = trueup._errors_expr('key_cells', 'key', key, form) -%}
    {% set old_key_error = trueup._errors_expr('old_key_cells', 'before', key, form) -%}
    {% set is_key_good = '(' ~ key_error ~ " = '' and not is_key_cut)" -%}
    {% set is_gone = '(is_truncate or is_tombstone or is_delete' ~ ('' if has_key else ' and not is_key_cut') ~ ')' -%}
    {% set old_key_bytes = 'cast(null as string)' if has_key else trueup._key_json_expr('old_key_fields', key) -%}
    select
        *,
        {{ is_key_good }} as is_key_good,
        case
            when is_truncate then 'truncate'
            -- Rule: without a key of the message, a delete without the whole key is an error. Nobody knows which row is gone.
            when {{ is_gone }} then 'delete'
            else 'upsert'
        end as op,
        case
            {%- if not has_key %}
            when is_delete and key_bytes is not null
                then concat({{ trueup._literal('A delete must have all columns of the key: ' ~ (key | join(', ')) ~ '. Got: ') }}, left(body, 100))
            {%- endif %}
            when new_fields is null{{ " or not coalesce(word rlike '^(" ~ form.upsert ~ ")$', false)" if form.upsert }}
                then concat({{ trueup._literal('The text must be a message of ' ~ form.name ~ '. Got: ') }}, left(body, 100))
            else {{ trueup._errors_expr('row_cells', 'row_values', values, form) }}
        end as error,
        -- If all columns are null, there is no old key.
        case
            when not {{ is_gone }} and {{ old_key_error }} = ''
                and not exists(old_key_cells, _cell -> _cell.json is null) and ({{ trueup._any_not_null_expr(key, 'before') }})
                and ({{ is_key_good }} or {{ ('old_key_object is not null' if given.old_key else 'false') if has_key else 'old_fields is not null' }})
                and not (before <=> key)
                then before
        end as old_key,
        -- Otherwise the error of a bad old key would stay.
        case
            when not {{ is_gone }} and {{ old_key_error }} <> '' and ({{ is_key_good }} or not ({{ old_key_bytes }} <=> key_bytes))
                then concat('x', lower(hex(cast({{ old_key_bytes }} as binary))))
        end as old_error_key
    from typed
),
-- Spark would move a filter below all of the above, and decode each message many times for it. So a message that is no command has no side.
sides as (
    select
        *,
        explode(case
            when not is_command then cast(array() as array<boolean>)
            when old_key is not null or old_error_key is not null then array(true, false)
            else array(false)
        end) as is_old_side
    from keyed
)
select
    {%- for name in key %}
    {%- set column = trueup._quoted(name) %}
    case when is_old_side then old_key.{{ column }} else key.{{ column }} end as {{ column }},
    {%- endfor %}
    {%- for name in values %}
    case when not is_old_side then row_values.{{ trueup._quoted(name) }} end as {{ trueup._quoted(name) }},
    {%- endfor %}
    named_struct(
        {#- Each field is of the side, so that a filter on it stays above the sides. #}
        'ts', if(is_old_side in (true, false), log_ts, null),
        'message', message_place,
        {%- if given.get('snapshot') %}
        'snapshot', if(is_old_side, null, {{ trueup._paths_expr(form.snapshot, form) }}),
        {%- endif %}
        'place', if(is_old_side in (true, false), place, null),
        'op', if(is_old_side, 'delete', op),
        'error', case when op = 'upsert' and not is_old_side and error <> '' then error end,
        'error_key', case
            when is_old_side then old_error_key
            when op = 'truncate' or is_key_good then null
            {%- if has_key %}
            when key_bytes is null then 'null'
            {%- endif %}
            else concat('x', lower(hex(cast({{ 'key_bytes' if has_key else 'coalesce(key_bytes, body)' }} as binary))))
        end,
        'unchanged', case when op = 'upsert' and not is_old_side then concat(
            {{ trueup._names_expr('row_cells', 'is_marked') }},
            {{ "if(coalesce(word rlike '^(" ~ form.partial ~ ")$', false) and new_fields is not null, " ~ trueup._names_expr('row_cells', 'json is null')
                ~ ', cast(array() as array<string>))'
                if form.partial else 'cast(array() as array<string>)' }}
        ) end,
        'old_key', case when is_key_good and not is_old_side then old_key end
    ) as _command
from sides
{%- endmacro %}


{#- The expression of a form as SQL: `{path type}` is a value of a change, `{^path type}` one of its message. -#}
{% macro _paths_expr(expression, form) -%}
    {%- set change = 'try_variant_get(' ~ ('change' if form.changes else 'message') -%}
    {%- set expression = modules.re.sub('[{][.] ([^{}]+)[}]', change ~ ", '$', '\\1')", expression) -%}
    {%- set expression = modules.re.sub('[{]\\^([^ {}]+) ([^{}]+)[}]', "try_variant_get(message, '$.\\1', '\\2')", expression) -%}
    {{ return(modules.re.sub('[{]([^ {}]+) ([^{}]+)[}]', change ~ ", '$.\\1', '\\2')", expression)) }}
{%- endmacro %}


{#- The place of a change in its source, or by `sequence_by`, as a struct. -#}
{% macro _place_expr(form, sequence_by) -%}
    {%- set fields = [] -%}
    {%- for term in sequence_by or form.order -%}
        {%- do fields.append("'_" ~ loop.index ~ "', " ~ ('log_' ~ loop.index if sequence_by else trueup._paths_expr(term, form))) -%}
    {%- endfor -%}
    {#- The changes of one message are in sequence. -#}
    {%- do fields.append("'_nth', nth") if form.changes -%}
    {{ return('named_struct(' ~ (fields or ["'_1', cast(null as bigint)"]) | join(', ') ~ ')') }}
{%- endmacro %}


{#-
    A message as a text. A struct becomes JSON. Five bytes of Confluent's serializer are dropped. The JSON null is null.
-#}
{% macro _message_text_expr(message) -%}
    {%- set bytes = 'cast(cast(' ~ message ~ ' as string) as binary)' -%}
nullif(case
            when typeof({{ message }}) rlike '^(struct|map)'
                then regexp_extract({{ trueup._exact_json_expr("named_struct('_', " ~ message ~ ')') }}, '(?s)^.{5}(.*).$', 1)
            when substring({{ bytes }}, 1, 1) = x'00' then cast(substring({{ bytes }}, 6) as string)
            else cast({{ message }} as string)
        end, 'null')
{%- endmacro %}


{#- The object in a text, without the schema that a converter of Kafka Connect has put beside it. Null if it is no object. -#}
{% macro _payload_expr(text) -%}
    {%- set pair = text ~ '_pair' -%}
    {%- set payload = 'try_variant_get(' ~ pair ~ ", '$[0].payload', 'variant')" -%}
    {{ return(
        'case when ' ~ trueup._is_pair_expr(pair, text) ~ ' then case when try_variant_get(' ~ pair ~ ", '$[0].schema', 'variant') is null or "
        ~ payload ~ ' is null then try_variant_get(' ~ pair ~ ", '$[0]', 'variant') else " ~ payload ~ ' end end'
    ) }}
{%- endmacro %}


{#- The map of variants with the fields of another one that it lacks. -#}
{% macro _filled_expr(fields, others) -%}
    {%- set none_of_them = ', cast(map() as map<string, variant>))' -%}
    {%- set own = 'coalesce(' ~ fields ~ none_of_them -%}
    {{ return(
        'map_concat(' ~ own ~ ', map_filter(coalesce(' ~ others ~ none_of_them ~ ', (_name, _one) -> not map_contains_key(' ~ own ~ ', _name)))'
    ) }}
{%- endmacro %}


{#- Columns with names and values as a map of variants. Null if a name repeats or is null. -#}
{% macro _pairs_expr(columns) -%}
    {{ return(
        'case when size(array_distinct(array_compact(' ~ columns ~ '.name))) = size(' ~ columns ~ ') then map_from_entries(' ~ columns ~ ') end'
    ) }}
{%- endmacro %}


{#- The key of a message that is an array of the key's values: in its key, or in the message. -#}
{% macro _key_of_array_expr(key, form) -%}
    {%- set values = "coalesce(try_variant_get(try_parse_json(key_body), '$', 'array<variant>'), " ~ trueup._paths_expr('{key array<variant>}', form) ~ ')' -%}
case when size({{ values }}) = {{ key | length }} then map_from_arrays(array({{ trueup._literal_list(key) }}), {{ values }}) end
{%- endmacro %}


{#- The key columns in a map of variants, as JSON. Null if the map has none of them. -#}
{% macro _key_json_expr(fields, key) -%}
    {{ return(
        'get(filter(array(to_json(map_filter(' ~ fields ~ ', (_name, _one) -> _name in (' ~ trueup._literal_list(key) ~ ')))),'
        ~ " _text -> _text <> '{}'), 0)"
    ) }}
{%- endmacro %}


{#- Raises unless the arguments of the macro of a form are valid. -#}
{% macro _require_message_arguments(macro, form, given) -%}
    {%- set subject = trueup._argument(macro, 'sequence_by') -%}
    {%- do trueup._require_relation(macro, given.relation) -%}
    {%- for argument in ['value', 'key', 'ts', 'old_key'] if argument == 'value' or given.get(argument) is not none -%}
        {%- do trueup._require_expression(macro, argument, given[argument]) -%}
    {%- endfor -%}
    {%- if given.sequence_by is not none -%}
        {%- do trueup._require_list(subject, given.sequence_by, are_names=false) -%}
    {%- elif given.ts is none and not form.order -%}
        {%- do trueup._raise_error(
            subject, 'given: no field of a message of ' ~ form.name ~ ' puts the changes of a row in order', given.sequence_by,
            'Give the place in the topic, as in `offset`, if all messages of a row are in one partition.'
        ) -%}
    {%- endif -%}
    {%- do trueup._require_reclock(macro, given.reclock) -%}
    {%- if given.get('snapshot') and (given.snapshot is not true or given.sequence_by or given.ts or not form.snapshot) -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, 'snapshot'), 'false, unless the order is the position in the source, at which a snapshot begins',
            given.sequence_by or given.ts or given.snapshot,
            'Leave out `sequence_by` and `ts`. Messages of MongoDB have no such position: leave out `snapshot`.'
        ) -%}
    {%- endif -%}
    {%- if 'unchanged_value' in given and (given.unchanged_value is not string or not given.unchanged_value) -%}
        {%- do trueup._raise_error(trueup._argument(macro, 'unchanged_value'), 'a text', given.unchanged_value) -%}
    {%- endif -%}
    {%- set table, parts = given.get('table'), form.table | length -%}
    {%- if table is not none and (table is not string or not modules.re.match('[^.]+[.].+$' if parts == 2 else '[^.]+$', table)) -%}
        {%- set must = 'a table with its schema, as in public.orders' if parts == 2 else 'the name of a table' -%}
        {%- do trueup._raise_error(trueup._argument(macro, 'table'), must, table) -%}
    {%- endif -%}
    {%- do trueup._require_schema(macro, given.schema) -%}
{%- endmacro %}


{#-
    The key columns of a schema, in the sequence of the key, and the value columns, as dicts. dbt does not know the key while
    it parses, so every column is a value then.
-#}
{% macro _columns_of(macro, schema, unique_key) -%}
    {%- set names, by_name, key, values = unique_key | map('lower') | list, {}, {}, {} -%}
    {%- for name in schema -%}
        {%- do by_name.update({name | lower: name}) -%}
    {%- endfor -%}
    {%- for name in names -%}
        {%- if name not in by_name or schema[by_name[name]] == 'variant' -%}
            {%- do trueup._raise_error(
                '`trueup.' ~ macro ~ '` in ' ~ model.name ~ ': each column of config `unique_key`',
                'a column of argument `schema` (' ~ (schema | join(', ')) ~ '), and no variant', name,
                'Add it to `schema`, or correct the config in dbt_project.yml.'
            ) -%}
        {%- endif -%}
        {%- do key.update({by_name[name]: schema[by_name[name]]}) -%}
    {%- endfor -%}
    {%- for name in schema if name | lower not in names -%}
        {%- do values.update({name: schema[name]}) -%}
    {%- endfor -%}
    {{ return([key, values]) }}
{%- endmacro %}
