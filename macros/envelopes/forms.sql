{#-
    The forms of messages that trueup reads, each with its macro. The table `_forms` says where everything lies in a message
    of each form, and one decoder reads them all: see decode.sql. The YAML beside this file describes the macros.

    In the expressions of the table `{a.b type}` is the value at the path `$.a.b` of a change, and `{^a.b type}` that of the
    message which has the change. `word` is the operation, and `nth` is the number of the change in its message.

    - `changes`: the changes of a message, if it may have several. Default: the message is the change.
    - `new`, `old`, `key_fields`: the row after and before the change, and its key, as maps of variants.
    - `op`: the operation, and `upsert` what it looks like if the change is an upsert.
    - `delete`, `truncate`, `skip`: conditions.
    - `partial`: in an upsert of this operation a column that `new` lacks is in `old`, or it is unchanged.
    - `order`: the position in the source, the most significant expression first. Without it `sequence_by` is needed.
    - `source`: the position as a struct. It is read once, because it stands in many places, and `source_lsn` is its field `lsn`.
    - `table`: the schema and the name of the table. `snapshot`: whether a snapshot has read the row, and if it was the last one; all its rows
      have the position at which it began.
    - `quoted`: whether numbers may be texts. `binary`: how bytes are written. `json`: whether JSON columns are texts.
    - `tags`: the fields of objects that stand for a value, such as `{"N": "12"}`.
    - `has_units`: whether the values may be those of Kafka Connect.
-#}
{% macro _forms() -%}
    {%- set row, pairs = 'map<string, variant>', 'array<struct<name string, value variant>>' -%}
    {%- set number_of_file = "try_cast(regexp_extract({}, '([0-9]+)$', 1) as bigint)" -%}
    {%- set forms, source, types = {}, {}, {
        'lsn': 'bigint', 'file': 'string', 'pos': 'bigint', 'row': 'bigint', 'commit_lsn': 'string', 'change_lsn': 'string',
        'event_serial_no': 'bigint', 'scn': 'decimal(38,0)', 'commit_scn': 'decimal(38,0)', 'rs_id': 'string', 'ssn': 'bigint',
        'sequence': 'string', 'ts_us': 'bigint', 'ts_ns': 'bigint', 'table': 'string', 'schema': 'string', 'db': 'string', 'snapshot': 'string',
    } -%}
    {#-
        A transaction of PostgreSQL that was open while a snapshot began lies before it in the log, and commits after it. The
        first item of `sequence` is the commit before: it says so.
        A flattened message has the fields of `source` with a prefix. A clock is a position only if the connector has no other
        one. A row without an envelope may have a column `op`, too; an envelope has other fields.
        The last row of a transaction of Maxwell has `commit` in place of `xoffset`. A sequence number of DynamoDB has up to
        40 digits; a Kinesis stream has none.
    -#}
    {%- for form, path in {
        'debezium': 'source_#', 'debezium_flattened': 'coalesce({__source_# type}, {__# type})',
    }.items() -%}
        {%- for name, type in types.items() -%}
            {%- do source.update({name: path | replace('#', name) | replace('type', type)}) -%}
        {%- endfor -%}
        {%- set number = number_of_file.format(source.file) -%}
        {#-
            By a clock each row of a snapshot has another position. With a commit before it, the first row is that of a blocking
            snapshot, after which Debezium goes on even if it was not complete.
        -#}
        {%- set clock = 'case when ' ~ source.lsn ~ ' is null and ' ~ source.scn ~ ' is null and coalesce(' ~ source.file ~ ', '
            ~ source.commit_lsn ~ ') is null then coalesce(' ~ source.ts_ns ~ ', ' ~ source.ts_us ~ ' * 1000L) end' -%}
        {%- do forms.update({form: {
            'name': 'Debezium', 'has_units': true, 'json': 'text',
            'snapshot': 'case when ' ~ clock ~ ' is null then if(' ~ source.snapshot ~ " = 'first' and try_cast(get_json_object("
                ~ source.sequence ~ ", '$[0]') as bigint) is not null, 'true', " ~ source.snapshot ~ ') end',
            'order': [
                'case when ' ~ source.lsn ~ ' is not null then greatest(' ~ source.lsn
                ~ ", try_cast(get_json_object(" ~ source.sequence ~ ", '$[0]') as bigint)) end",
                source.lsn, number, 'case when ' ~ number ~ ' is not null then ' ~ source.pos ~ ' end',
                'case when ' ~ number ~ ' is not null then ' ~ source.row ~ ' end',
                source.commit_lsn, source.change_lsn, source.event_serial_no,
                'coalesce(' ~ source.commit_scn ~ ', ' ~ source.scn ~ ')', source.scn, source.rs_id, source.ssn,
                clock,
            ],
            'table': ['coalesce(' ~ source.schema ~ ', ' ~ source.db ~ ')', source.table],
        }}) -%}
    {%- endfor -%}
    {%- set fields, names = [], [] -%}
    {%- for name, type in types.items() if name not in ['table', 'schema', 'db'] -%}
        {%- do fields.append(name ~ ': ' ~ type) -%}
        {%- do names.append(name) -%}
    {%- endfor -%}
    {%- do forms.debezium.update({
        'source': '{source struct<' ~ fields | join(', ') ~ '>}', 'source_fields': names,
        'table': ['coalesce({source.schema string}, {source.db string})', '{source.table string}'],
        'new': '{after ' ~ row ~ '}', 'old': '{before ' ~ row ~ '}',
        'op': "case when {source variant} is not null or {before variant} is not null or size(array_except(map_keys({. " ~ row
            ~ "}), array('before', 'after', 'source', 'op', 'ts_ms', 'ts_us', 'ts_ns', 'transaction', 'message'))) = 0 then {op string} end",
        'delete': "is_variant_null({after variant}) or {after variant} is null and word = 'd'",
        'truncate': "word = 't' and {after " ~ row ~ "} is null", 'skip': "word = 'm'",
    }) -%}
    {%- do forms.debezium_flattened.update({
        'new': 'case when coalesce({__op string}, {__deleted string}) is not null then {. ' ~ row ~ '} end',
        'op': '{__op string}', 'delete': "word = 'd' or {__deleted string} = 'true'",
    }) -%}
    {%- do forms.update({
        'debezium_mongodb': {
            'name': 'Debezium', 'has_units': true,
            'new': "try_variant_get(try_parse_json({after string}), '$', '" ~ row ~ "')",
            'old': "try_variant_get(try_parse_json({before string}), '$', '" ~ row ~ "')",
            'op': '{op string}',
            'delete': "is_variant_null({after variant}) or {after variant} is null and word = 'd'",
            'order': ['coalesce({source.ts_ns bigint}, {source.ts_ms bigint} * 1000000L)', '{source.ord bigint}'],
            'table': ['{source.db string}', '{source.collection string}'],
            'tags': [
                '$oid', '$numberInt', '$numberLong', '$numberDouble', '$numberDecimal', '$date.$numberLong', '$date', '$binary',
            ],
        },
        'wal2json': {
            'name': 'wal2json',
            'changes': 'coalesce({^change array<variant>}, array(message))',
            'new': trueup._pairs_expr('coalesce({columns ' ~ pairs ~ '}, cast(arrays_zip({columnnames array<string>},'
                ~ ' {columnvalues array<variant>}) as ' ~ pairs ~ '))'),
            'old': trueup._pairs_expr('coalesce({identity ' ~ pairs ~ '}, cast(arrays_zip({oldkeys.keynames array<string>},'
                ~ ' {oldkeys.keyvalues array<variant>}) as ' ~ pairs ~ '))'),
            'op': 'coalesce({action string}, {kind string})', 'upsert': 'I|U|insert|update', 'partial': 'U|update',
            'delete': "word in ('D', 'delete')", 'truncate': "word in ('T', 'truncate')",
            'skip': "word in ('B', 'C', 'M', 'message')",
            'order': [
                ("case when # rlike '^[0-7]?[0-9A-Fa-f]{1,7}/[0-9A-Fa-f]{1,8}$' then cast(conv(split_part(#, '/', 1), 16, 10) as bigint)"
                ~ " * 4294967296 + cast(conv(split_part(#, '/', 2), 16, 10) as bigint) end")
                | replace('#', 'coalesce({lsn string}, {^nextlsn string})')
            ],
            'table': ['{schema string}', '{table string}'],
            'binary': 'hex', 'json': 'text',
        },
        'maxwell': {
            'name': 'Maxwell',
            'new': '{data ' ~ row ~ '}', 'old': '{old ' ~ row ~ '}',
            'op': '{type string}', 'upsert': 'insert|update|bootstrap-insert',
            'delete': "word = 'delete'", 'skip': "word rlike '^(bootstrap-(start|complete)|(table|database)-.*)$'",
            'order': [
                number_of_file.format("split_part({position string}, ':', 1)"),
                "try_cast(split_part({position string}, ':', 2) as bigint)",
                'coalesce({xoffset bigint}, case when {commit boolean} then 9223372036854775807L end)',
            ],
            'table': ['{database string}', '{table string}'],
            'quoted': true,
        },
        'canal': {
            'name': 'Canal',
            'changes': 'coalesce({^data array<variant>}, array(cast(null as variant)))',
            'new': '{. ' ~ row ~ '}', 'old': 'get({^old array<' ~ row ~ '>}, nth)',
            'op': '{^type string}', 'upsert': 'INSERT|UPDATE', 'delete': "word = 'DELETE'", 'truncate': "word = 'TRUNCATE'",
            'skip': "{^isDdl boolean} and word <> 'TRUNCATE'",
            'table': ['{^database string}', '{^table string}'],
            'quoted': true, 'json': 'text',
        },
        'dms': {
            'name': 'AWS DMS',
            'new': '{data ' ~ row ~ '}', 'old': '{before-image ' ~ row ~ '}',
            'op': '{metadata.operation string}', 'upsert': 'load|insert|update', 'delete': "word = 'delete'",
            'truncate': "word in ('truncate', 'truncate-table')", 'skip': "{metadata.record-type string} = 'control'",
            'table': ['{metadata.schema-name string}', '{metadata.table-name string}'],
            'quoted': true, 'json': 'text',
        },
        'goldengate': {
            'name': 'GoldenGate',
            'new': '{after ' ~ row ~ '}', 'old': '{before ' ~ row ~ '}',
            'op': '{op_type string}', 'upsert': 'I|U|P', 'partial': 'U|P',
            'delete': "word = 'D'", 'truncate': "word = 'T'",
            'order': ['{pos decimal(38,0)}'],
            'table': ["nullif(split_part({table string}, '.', -2), '')", "split_part({table string}, '.', -1)"],
            'quoted': true, 'json': 'text',
        },
        'cockroachdb': {
            'name': 'CockroachDB',
            'new': '{after ' ~ row ~ '}', 'old': '{before ' ~ row ~ '}',
            'delete': 'is_variant_null({after variant})', 'skip': '{resolved string} is not null',
            'order': ['try_cast(coalesce({mvcc_timestamp string}, {updated string}) as decimal(38,10))'],
            'quoted': true, 'binary': 'hex',
        },
        'dynamodb': {
            'name': 'DynamoDB',
            'new': '{dynamodb.NewImage ' ~ row ~ '}', 'old': '{dynamodb.OldImage ' ~ row ~ '}',
            'key_fields': '{dynamodb.Keys ' ~ row ~ '}',
            'op': '{eventName string}', 'upsert': 'INSERT|MODIFY', 'delete': "word = 'REMOVE'",
            'order': [
                'length({dynamodb.SequenceNumber string})', '{dynamodb.SequenceNumber string}',
                'case when {dynamodb.SequenceNumber string} is null then {dynamodb.ApproximateCreationDateTime bigint} end',
            ],
            'table': ["regexp_extract({eventSourceARN string}, ':table/([^/]+)', 1)"],
            'quoted': true, 'tags': ['S', 'N', 'B', 'BOOL', 'M', 'L', 'SS', 'NS', 'BS'],
        },
    }) -%}
    {{ return(forms) }}
{%- endmacro %}


{% macro debezium(
    relation, schema, value='value', key='key', ts=none, sequence_by=none, reclock=none, table=none,
    old_key=none, unchanged_value='__debezium_unavailable_value', flattened=false, snapshot=false
) -%}
    {{- trueup._decoded_commands_select('debezium', kwargs, dict(
        relation=relation, schema=schema, value=value, key=key, ts=ts, sequence_by=sequence_by, table=table, old_key=old_key,
        unchanged_value=unchanged_value, flattened=flattened, reclock=reclock, snapshot=snapshot)) -}}
{%- endmacro %}


{% macro wal2json(relation, schema, value='data', ts=none, sequence_by=none, reclock=none, table=none) -%}
    {{- trueup._decoded_commands_select('wal2json', kwargs, dict(
        relation=relation, schema=schema, value=value, ts=ts, sequence_by=sequence_by, table=table, reclock=reclock)) -}}
{%- endmacro %}


{% macro maxwell(relation, schema, value='value', ts=none, sequence_by=none, reclock=none, table=none) -%}
    {{- trueup._decoded_commands_select('maxwell', kwargs, dict(
        relation=relation, schema=schema, value=value, ts=ts, sequence_by=sequence_by, table=table, reclock=reclock)) -}}
{%- endmacro %}


{% macro canal(relation, schema, value='value', ts=none, sequence_by=none, reclock=none, table=none) -%}
    {{- trueup._decoded_commands_select('canal', kwargs, dict(
        relation=relation, schema=schema, value=value, ts=ts, sequence_by=sequence_by, table=table, reclock=reclock)) -}}
{%- endmacro %}


{% macro dms(relation, schema, value='value', ts=none, sequence_by=none, reclock=none, table=none) -%}
    {{- trueup._decoded_commands_select('dms', kwargs, dict(
        relation=relation, schema=schema, value=value, ts=ts, sequence_by=sequence_by, table=table, reclock=reclock)) -}}
{%- endmacro %}


{% macro goldengate(relation, schema, value='value', ts=none, sequence_by=none, reclock=none, table=none) -%}
    {{- trueup._decoded_commands_select('goldengate', kwargs, dict(
        relation=relation, schema=schema, value=value, ts=ts, sequence_by=sequence_by, table=table, reclock=reclock)) -}}
{%- endmacro %}


{% macro cockroachdb(relation, schema, value='value', key='key', ts=none, sequence_by=none, reclock=none) -%}
    {{- trueup._decoded_commands_select('cockroachdb', kwargs, dict(
        relation=relation, schema=schema, value=value, key=key, ts=ts, sequence_by=sequence_by, reclock=reclock)) -}}
{%- endmacro %}


{% macro dynamodb(relation, schema, value='value', ts=none, sequence_by=none, reclock=none, table=none) -%}
    {{- trueup._decoded_commands_select('dynamodb', kwargs, dict(
        relation=relation, schema=schema, value=value, ts=ts, sequence_by=sequence_by, table=table, reclock=reclock)) -}}
{%- endmacro %}
