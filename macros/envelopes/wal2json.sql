{#-
    The commands of a log of wal2json's messages, format version 2: the body of the model
    `<collection>_commands`, instead of `trueup.commands`. See the YAML beside this file.
-#}
{% macro wal2json(
    relation, schema, value='data', table=none, ts=none, sequence_by=none
) -%}
    {%- do trueup._require_known_arguments('wal2json', kwargs) -%}
    {{- trueup._decoded_commands_select(
        decoded=trueup.decode_wal2json(
            relation=relation, schema=schema, value=value, table=table, ts=ts,
            sequence_by=sequence_by
        ),
        values=trueup._columns_of('wal2json', schema, of_key=false),
        has_tick=ts is not none
    ) -}}
{%- endmacro %}


{#- A select of the decoded messages: the key, the values, and the struct `_command`. -#}
{% macro decode_wal2json(
    relation, schema, value='data', table=none, ts=none, sequence_by=none
) -%}
    {%- do trueup._require_envelope('wal2json', relation, {'ts': ts}, sequence_by) -%}
    {%- do trueup._require_expression('wal2json', 'value', value) -%}
    {%- if table is not none and (table is not string or not modules.re.match('[^.]+[.].+$', table)) -%}
        {%- do trueup._raise_error(
            trueup._argument('wal2json', 'table'), 'a table with its schema, as in public.orders', table
        ) -%}
    {%- endif -%}
    {%- set key_columns = trueup._columns_of('wal2json', schema, of_key=true) -%}
with messages as (

    select
        cast({{ value }} as string) as body,
        {{ ts or 'null' }} as log_ts,
        {{ trueup._sequence_expr(sequence_by or []) }} as log_sequence
    from {{ trueup._marked_messages(relation, [value, ts] + (sequence_by or [])) }}

),

envelopes as (

    select
        *,
        from_json(
            case when {{ trueup._json_object_expr('body') }} is not null then body end,
            {{ trueup._literal(trueup._wal2json_ddl()) }}
        ) as envelope
    from messages

),

-- Rule: in an update, a column missing in `columns` is unchanged. `identity` has the old values of the key. With
-- REPLICA IDENTITY FULL it has the old values of all columns, and so an unchanged value that is not in `columns`.
opened as (

    select
        *,
        {{ trueup._wal2json_fields_expr(
            "concat(envelope.columns, case when envelope.action = 'U' then coalesce(envelope.identity, array())"
            ~ ' else array() end)'
        ) }} as row_fields,
        {{ trueup._wal2json_fields_expr(
            "concat(case when envelope.action <> 'D' then envelope.columns else array() end,"
            ~ ' coalesce(envelope.identity, array()))'
        ) }} as key_fields,
        case
            when envelope.action = 'U' then {{ trueup._wal2json_fields_expr('envelope.identity') }}
        end as old_key_fields
    from envelopes

),

identified as (

    select *, {{ trueup._key_json_expr('key_fields', key_columns) }} as key_bytes from opened

),

changes as (

    select
        log_ts as ts,
        {{ 'log_sequence' if sequence_by
            else trueup._sequence_expr([trueup._lsn_expr('envelope.lsn')]) }} as sequence,
        case
            -- The bounds of a transaction and logical messages have no row.
            when envelope.action in ('B', 'C', 'M') then null
            {%- if table %}
            -- With `include-schemas=false` a message has only the name of its table.
            when concat(
                coalesce(envelope.`schema`, {{ trueup._literal(table.partition('.')[0]) }}), '.', envelope.`table`
            ) <> {{ trueup._literal(table) }}
                then null
            {%- endif %}
            when envelope.action = 'T' then 'truncate'
            -- Rule: a delete without the whole key is an error. Nobody knows which row is gone.
            when envelope.action = 'D' and {{ trueup._has_key_expr('key_fields', key_columns) }} then 'delete'
            else 'upsert'
        end as op,
        case
            when envelope.action = 'D' and key_bytes is not null
                then {{ trueup._part_of_key_error_expr(key_columns, 'body') }}
            when coalesce(envelope.action, '') not in ('I', 'U') or row_fields is null
                then concat('The text must be a message of wal2json. Got: ', left(body, 100))
        end as error,
        row_fields,
        key_fields,
        coalesce(key_bytes, body) as key_bytes,
        old_key_fields,
        {{ trueup._key_json_expr('old_key_fields', key_columns) }} as old_key_bytes,
        -- Both keys come from one row, so a bad new key is another one than a good old key.
        envelope.action = 'U' and row_fields is not null as is_key_changed,
        envelope.action = 'U' and row_fields is not null as absent_is_unchanged
    from identified

),

{{ trueup._decoded_changes_ctes(
    key=key_columns,
    values=trueup._columns_of('wal2json', schema, of_key=false),
    binary_format='hex'
) }}

select * from decoded
{%- endmacro %}


{#- The schema of the message for `from_json`, which drops all fields that are not listed. -#}
{% macro _wal2json_ddl() -%}
    {%- set columns = 'array<struct<name string, value variant>>' -%}
    {{ return(
        'action string, `schema` string, `table` string, lsn string, `timestamp` string, columns '
        ~ columns ~ ', identity ' ~ columns
    ) }}
{%- endmacro %}


{#- Columns with names and values as a map of variants. If a name repeats, the first one counts. -#}
{% macro _wal2json_fields_expr(columns) -%}
transform(array({{ columns }}), _columns -> map_from_entries(transform(
            filter(_columns, (_one, _at) -> array_position(_columns.name, _one.name) = _at + 1),
            _one -> struct(_one.name, _one.value)
        )))[0]
{%- endmacro %}


{#- PostgreSQL's text of a log sequence number, two halves in hex, as a bigint; null for any other text. -#}
{% macro _lsn_expr(lsn) -%}
    {%- set half = 'cast(conv(split_part(' ~ lsn ~ ", '/', {}), 16, 10) as bigint)" -%}
    {{ return(
        'case when ' ~ lsn ~ " rlike '^[0-7]?[0-9A-Fa-f]{1,7}/[0-9A-Fa-f]{1,8}$' then " ~ half.format(1)
        ~ ' * 4294967296 + ' ~ half.format(2) ~ ' end'
    ) }}
{%- endmacro %}
