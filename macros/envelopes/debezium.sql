{#-
    The commands of a log of Debezium's messages in JSON: the body of the model
    `<collection>_commands`, instead of `trueup.commands`. See the YAML beside this file.
-#}
{% macro debezium(
    relation, schema, value='value', key='key', ts=none, sequence_by=none,
    old_key=none, unchanged_value='__debezium_unavailable_value'
) -%}
    {%- do trueup._require_known_arguments('debezium', kwargs) -%}
    {{- trueup._decoded_commands_select(
        decoded=trueup.decode_debezium(
            relation=relation, schema=schema, value=value, key=key, ts=ts,
            sequence_by=sequence_by, old_key=old_key, unchanged_value=unchanged_value
        ),
        values=trueup._columns_of('debezium', schema, of_key=false),
        has_tick=ts is not none
    ) -}}
{%- endmacro %}


{#- A select of the decoded messages: the key, the values, and the struct `_command`. -#}
{% macro decode_debezium(
    relation, schema, value='value', key='key', ts=none, sequence_by=none,
    old_key=none, unchanged_value='__debezium_unavailable_value'
) -%}
    {%- do trueup._require_envelope(
        'debezium', relation, {'key': key, 'ts': ts, 'old_key': old_key}, sequence_by
    ) -%}
    {%- do trueup._require_expression('debezium', 'value', value) -%}
    {%- if unchanged_value is not string or not unchanged_value -%}
        {%- do trueup._raise_error(
            trueup._argument('debezium', 'unchanged_value'), 'a text', unchanged_value
        ) -%}
    {%- endif -%}
    {%- set key_columns = trueup._columns_of('debezium', schema, of_key=true) -%}
    {#- A tombstone has no order, so it must come from columns of the log. -#}
    {%- set has_tombstones = key and sequence_by -%}
with messages as (

    select
        nullif(cast({{ value }} as string), 'null') as body,
        {% if key -%}
        {{ trueup._debezium_key_expr(key) }} as key_fields,
        nullif(cast({{ key }} as string), 'null') as key_bytes,
        {% endif -%}
        {{ trueup._debezium_key_expr(old_key or 'null') }} as header_fields,
        {{ ts or 'null' }} as log_ts,
        {{ trueup._sequence_expr(sequence_by or []) }} as log_sequence
    from {{ trueup._marked_messages(
        relation, [value, key, ts, old_key] + (sequence_by or [])
    ) }}

),

objects as (

    select
        *,
        {{ trueup._json_object_expr('body') }} as body_fields
    from messages

),

-- A converter may write the message as `payload`, next to its `schema`.
parcels as (

    select
        *,
        coalesce(map_contains_key(body_fields, 'schema') and map_contains_key(body_fields, 'payload'), false)
            as is_wrapped,
        from_json(
            case when body_fields is not null then body end,
            {{ trueup._literal(
                trueup._debezium_ddl() ~ ', payload struct<' ~ trueup._debezium_ddl() ~ '>'
            ) }}
        ) as parcel
    from objects

),

envelopes as (

    select
        *,
        body is null or is_wrapped and is_variant_null(body_fields['payload']) as is_tombstone,
        case
            when is_wrapped then try_variant_get(body_fields['payload'], '$', 'map<string, variant>')
            else body_fields
        end as fields,
        case
            when is_wrapped then parcel.payload
            else struct(parcel.op, parcel.before, parcel.after, parcel.ts_ms, parcel.source)
        end as envelope
    from parcels

),

-- Rule: a null `after` is a delete. Any other `after` is the row. `op` and `before` are not read for this. A row
-- without an envelope may have a column `op`, too. It also has columns that no envelope has.
opened as (

    select
        *,
        {{ trueup._is_envelope_expr() }} as is_envelope,
        is_tombstone or is_variant_null(envelope.after)
            or envelope.after is null and envelope.op <=> 'd' and is_envelope as is_delete,
        try_variant_get(envelope.after, '$', 'map<string, variant>') as row_fields,
        try_variant_get(envelope.before, '$', 'map<string, variant>') as before_fields
    from envelopes

),

{% if not key -%}
identified as (

    select
        *,
        case when is_delete then before_fields else row_fields end as key_fields,
        {{ trueup._key_json_expr(
            'case when is_delete then before_fields else row_fields end', key_columns
        ) }} as key_bytes
    from opened

),

{% endif -%}
changes as (

    select
        log_ts as ts,
        {{ 'log_sequence' if sequence_by
            else trueup._sequence_expr(trueup._debezium_positions()) }} as sequence,
        case
            -- A logical message has no row. A tombstone repeats the delete before it.
            when is_envelope and envelope.op = 'm'{{ ' or is_tombstone' if not has_tombstones }} then null
            {%- if has_tombstones and old_key %}
            -- Without an order it would be the first of its tick, and delete a row before its values are moved.
            when is_tombstone and log_sequence._1 is null then null
            {%- endif %}
            when is_envelope and envelope.op = 't' and row_fields is null then 'truncate'
            -- Rule: without keys, a delete without the whole key is an error. Nobody knows which row is gone.
            when is_delete
                {%- if not key %} and {{ trueup._has_key_expr('key_fields', key_columns) }}{% endif %} then 'delete'
            else 'upsert'
        end as op,
        case
            {%- if not key %}
            when is_delete and key_bytes is not null
                then {{ trueup._part_of_key_error_expr(key_columns, 'body') }}
            {%- endif %}
            when row_fields is null
                then concat('The text must be a Debezium envelope. Got: ', left(body, 100))
        end as error,
        row_fields,
        key_fields,
        {{ 'key_bytes' if key else 'coalesce(key_bytes, body) as key_bytes' }},
        coalesce(header_fields, before_fields) as old_key_fields,
        cast(null as string) as old_key_bytes,
        header_fields is not null as is_key_changed,
        false as absent_is_unchanged
    from {{ 'opened' if key else 'identified' }}

),

{{ trueup._decoded_changes_ctes(
    key=key_columns,
    values=trueup._columns_of('debezium', schema, of_key=false),
    marks=trueup._forms_of_unchanged(unchanged_value)
) }}

select * from decoded
{%- endmacro %}


{#- The fields of the key of a message. A converter may have written the key as `payload`, too. -#}
{% macro _debezium_key_expr(text) -%}
transform(
            array({{ trueup._json_object_expr('cast(' ~ text ~ ' as string)') }}),
            _fields -> case
                when map_contains_key(_fields, 'schema') and map_contains_key(_fields, 'payload')
                    then try_variant_get(_fields['payload'], '$', 'map<string, variant>')
                else _fields
            end
        )[0]
{%- endmacro %}


{#-
    Whether a message is an envelope, and not a row with a column `op`. An envelope has a `source` or a `before`, or at
    least no field of another name.
-#}
{% macro _is_envelope_expr() -%}
coalesce(
            envelope.source is not null
            or envelope.before is not null
            or size(array_except(map_keys(fields), array(
                'before', 'after', 'source', 'op', 'ts_ms', 'ts_us', 'ts_ns', 'transaction', 'message'
            ))) = 0,
            false
        )
{%- endmacro %}


{#- The schema of the envelope for `from_json`, which drops all fields that are not listed. -#}
{% macro _debezium_ddl() -%}
    {{ return(
        'op string, before variant, after variant, ts_ms bigint, source struct<ts_ms bigint,'
        ~ ' lsn bigint, file string, pos bigint, `row` bigint,'
        ~ ' commit_lsn string, change_lsn string, event_serial_no bigint>'
    ) }}
{%- endmacro %}


{#-
    The position of a message in its source, for PostgreSQL, for MySQL and MariaDB, and for SQL
    Server.
-#}
{% macro _debezium_positions() -%}
    {{ return([
        'envelope.source.lsn',
        'envelope.source.file', 'envelope.source.pos', 'envelope.source.`row`',
        'envelope.source.commit_lsn', 'envelope.source.change_lsn',
        'envelope.source.event_serial_no',
    ]) }}
{%- endmacro %}
