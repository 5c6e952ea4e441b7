{#- The type of `_statistics`. -#}
{% macro _statistics_type() -%}
    {%- set fields = [] -%}
    {%- for field in trueup._statistics_fields() -%}
        {%- do fields.append(field.name ~ ': ' ~ field.type) -%}
    {%- endfor -%}
    {{ return('struct<' ~ (fields | join(', ')) ~ '>') }}
{%- endmacro %}


{#- The fields of `_statistics`. Counts of rows are bigint, times are in UTC. -#}
{% macro _statistics_fields() -%}
    {%- set types = {
        'tie_samples': 'array<string>', 'definition': 'string',
        'partitions': trueup._partitions_type(), 'read_only': 'boolean',
        'position': trueup._log_position_type(),
        'whole_log_reason': 'string', 'state_verified_by': 'string',
        'minted_at': 'timestamp', 'committed_at': 'timestamp', 'seal': trueup._seal_type(),
    } -%}
    {%- set fields = [] -%}
    {%- for name in [
        'messages_received', 'commands_read', 'commands_settled', 'updates_staged', 'inserts',
        'updates', 'deletes',
        'retractions', 'error_inserts', 'error_retractions', 'late_dropped', 'superseded', 'tombstones',
        'orders_staged', 'ties', 'tie_samples',
        'order_pairs', 'order_inversions', 'corrections', 'records_indexed', 'open_upper', 'since',
        'definition', 'partitions', 'position', 'whole_log_reason', 'state_verified_by', 'format',
        'read_only',
        'minted_at', 'committed_at', 'seal',
    ] -%}
        {%- do fields.append({'name': name, 'type': types.get(name, 'bigint')}) -%}
    {%- endfor -%}
    {{ return(fields) }}
{%- endmacro %}


{#- The number of the format that this version writes. It changes when an earlier version could misread the tables. -#}
{% macro _format_number() -%}
    {{ return(1) }}
{%- endmacro %}


{#- How far the log was read; see `_ensure_log_part`. Null if the log has no positions. -#}
{% macro _log_position_type() -%}
    {%- set position = 'struct<snapshot: string, arrived: bigint, commands: bigint, at: bigint>' -%}
    {{ return(
        'struct<settled: ' ~ position ~ ', read: ' ~ position ~ ', upper: bigint, code: string>'
    ) }}
{%- endmacro %}


{#-
    Seals: each progress row certifies itself and the row before it, so that an edit of any progress row is
    found. The field `seal` of `_statistics` holds five hashes:

    `updates`      the updates of the batch: XOR of `_update_mark_expr`, which covers tick, sign and cause
    `certificate`  the certificate of the row
    `previous`     `own` of the batch before; null for the first batch
    `own`          all fields of the row that are fixed when the batch is staged, and the three hashes above
    `committed`    `own`, and the fields that are set later: `since` and `committed_at`
-#}
{% macro _seal_type() -%}
    {{ return(
        'struct<updates: bigint, certificate: bigint, previous: bigint, own: bigint,'
        ~ ' committed: bigint>'
    ) }}
{%- endmacro %}


{#-
    Certificates: the sums of a collection, by bucket of keys. They are linear: the certificate after a
    batch is the one before it plus that of the batch's updates. So a batch costs only as much as its
    updates. A sum of 64-bit hashes would overflow, so the two halves are summed separately.
-#}
{% macro _certificate_type() -%}
    {{ return(
        'array<struct<bucket: int, diff_sum: bigint, len_sum: bigint, checksum_low_sum: bigint,'
        ~ ' checksum_high_sum: bigint, value_xor: bigint>>'
    ) }}
{%- endmacro %}
