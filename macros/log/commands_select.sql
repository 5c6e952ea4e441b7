{#-
    A select of the commands of a log, one row each: the body of a model whose `trueup.commands` has a key and an order.
    `given` has the arguments, each under its first name.
-#}
{% macro _commands_select(given, keys) -%}
    {%- set key = trueup._names(keys) if model.resource_type == 'unit_test' else trueup._unique_key_of_model() if execute else [] -%}
    {%- set sequence = [given.sequence_by] if given.sequence_by is string else given.sequence_by or [] -%}
    {%- if given.sequence_by is not none or given.ts is none -%}
        {%- do trueup._require_list(trueup._argument('commands', 'sequence_by'), sequence, are_names=false) -%}
    {%- endif -%}
    {%- do trueup._require_arguments(given, key) -%}
    {%- set options = trueup._store_options('ticks' if given.ts else 'log') -%}
    {%- set null_key_is_error = key | length == 1 and options.null_keys == 'error' -%}
    {%- set unchanged = trueup._unchanged_expr(given, key) -%}
    {%- do trueup._require_snapshot(given.snapshot, sequence, given.ts) -%}
    {#- With ticks, a later tick wins whatever the sequence says. -#}
    {%- set tick = trueup._tick_expr(given.ts, trueup._argument('commands', 'ts')) if given.ts -%}
with log as (
    select * from {{ trueup._marked_log(given.relation) }}
)

{{ trueup._log_boundary() }}
select
    {{ trueup._column_list(key) }},
    {{ trueup._values_list(given, key) }},
    named_struct(
        '_epoch', 0,
        {%- for term in ([tick] if tick else []) + sequence %}
        '_{{ loop.index }}', {{ trueup._order_in_snapshot_expr(term, given, loop.index0 - (1 if tick else 0)) }}{{ ',' if not loop.last }}
        {%- endfor %}
        {%- if options.null_order == 'arrival' %},
        '_arrival', cast(null as bigint)
        {%- endif %}
        {%- if options.ties == 'place' %},
        '_contents', cast(null as {{ trueup._contents_type() }})
        {%- endif %}
    ) as _order,
    {%- if tick %}
    {{ tick }} as _ts,
    {%- endif %}
    {{ '_snapshot_op' if given.snapshot else trueup._op_expr(given.delete_when, given.truncate_when) }} as _op,
    cast({{ given.error or 'null' }} as string) as _error,
    {% if null_key_is_error -%}
    coalesce(
        cast({{ given.error_key or 'null' }} as string),
        case when {{ trueup._quoted(key[0]) }} is null then 'null' end
    ) as _error_key
    {%- else -%}
    cast({{ given.error_key or 'null' }} as string) as _error_key
    {%- endif %}
    {%- if unchanged -%},
    {{ unchanged }} as _unchanged
    {%- endif %}
    {%- if given.unchanged_value is not none -%},
    {{ trueup._literal(given.unchanged_value) }} as _unchanged_value
    {%- endif %}
    {%- if given.old_key -%},
    {{ given.old_key }} as _old_key
    {%- endif %}
    {%- if given.reclock -%},
    {{ trueup._message_place_expr(given.reclock) }} as _place
    {%- endif %}
    {#- The changes of two sources do not compare. -#}
    {%- if given.snapshot and given.snapshot.is_first and not options.truncate_scope -%},
    {{ given.snapshot.is_first }} as _is_first
    {%- endif %}
from log
{%- if given.snapshot %}
-- The end of a complete snapshot is a truncate, too: what the snapshot does not have is gone.
lateral view explode(array_compact(array(
    case when {{ given.snapshot.end }} then 'truncate' end, {{ trueup._op_expr(given.delete_when, given.truncate_when) }}
))) steps as _snapshot_op
{%- endif %}
{%- if given.skip_when %}
where not coalesce({{ given.skip_when }}, false)
{%- endif %}
{%- endmacro %}


{#-
    A term of the order. The rows of a snapshot have the order at which the snapshot began: a change that came after it began is
    newer, whenever its row was read.
-#}
{% macro _order_in_snapshot_expr(term, given, place) -%}
    {%- if not given.snapshot or place < 0 or given.snapshot.start[place] == term -%}
        {{ return(term) }}
    {%- endif -%}
    {{ return('case when (' ~ given.snapshot.id ~ ') is not null then ' ~ given.snapshot.start[place] ~ ' else ' ~ term ~ ' end') }}
{%- endmacro %}


{#- Raises unless `snapshot` has an `id`, a `start` for each part of the order, and an `end`. -#}
{% macro _require_snapshot(snapshot, sequence, ts) -%}
    {%- set subject = trueup._argument('commands', 'snapshot') -%}
    {%- if snapshot is not none and (snapshot is not mapping or snapshot.keys() | reject('eq', 'is_first' if snapshot.id == '_command.snapshot' else none) | sort != ['end', 'id', 'start']) -%}
        {%- do trueup._raise_error(
            subject, 'a mapping of `id` (null for a row of no snapshot), `start` (the order at which it began) and `end` (true for'
            ~ ' its last row)', snapshot
        ) -%}
    {%- elif snapshot is not none and ts -%}
        {#- The rows of a snapshot may have several ticks, and its end would delete those of earlier ones. -#}
        {%- do trueup._raise_error(subject, 'left out, because `ts` is given', ts) -%}
    {%- elif snapshot is not none -%}
        {%- do trueup._require_list(subject ~ ': `start`', snapshot.start, are_names=false) -%}
        {%- if snapshot.start | length != sequence | length -%}
            {%- do trueup._raise_error(
                subject ~ ': `start`', 'as long as `sequence_by`: ' ~ (sequence | join(', ')), snapshot.start | join(', ')
            ) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}


{#- The type of `_contents`, the last part of an order with `ties: place`: all that commands of this order have said, and where. -#}
{% macro _contents_type() -%}
    {{ return('array<struct<digest: bigint, topic: string, partition: string, offset: bigint>>') }}
{%- endmacro %}


{#- The place of a message, from its offset and, before it, topic and partition, if there are several. -#}
{% macro _message_place_expr(reclock) -%}
    {%- set terms = ['null', 'null'][:3 - reclock | length] + reclock -%}
named_struct(
        'topic', cast({{ terms[0] }} as string), 'partition', cast({{ terms[1] }} as string), 'offset', cast({{ terms[2] }} as bigint)
    )
{%- endmacro %}


{#-
    A marker line in the select. The lines before it only read the log. The materialization cuts
    here to ask for the columns of the log, because it cannot get the relation as an argument.
-#}
{% macro _log_boundary() -%}
    {{ return('-- the commands of the log') }}
{%- endmacro %}


{#- The value columns except those in `but`, as a list of select items. -#}
{% macro _values_list(given, key, but=[]) -%}
    {%- if given.columns -%}
        {{ return(trueup._column_list(trueup._names_but(given.columns, key + but))) }}
    {%- endif -%}
    {%- set excluded = key + (given.except_columns or []) -%}
    {{ return(trueup._all_but_list(excluded + trueup._names_but(but, excluded))) }}
{%- endmacro %}


{#- The operation of a command, as an SQL expression: `truncate`, `delete` or `upsert`. -#}
{% macro _op_expr(delete_when, truncate_when) -%}
    {%- set whens = [] -%}
    {%- if truncate_when -%}
        {%- do whens.append('when ' ~ truncate_when ~ " then 'truncate'") -%}
    {%- endif -%}
    {%- if delete_when -%}
        {%- do whens.append('when ' ~ delete_when ~ " then 'delete'") -%}
    {%- endif -%}
    {{ return("case " ~ (whens | join(' ')) ~ " else 'upsert' end" if whens else "'upsert'") }}
{%- endmacro %}


{#-
    The logical time as a bigint: an integer stays as it is, a timestamp becomes microseconds since 1970.
    The casts let one expression take both types. Spark removes a cast to the same type. So bounds on an
    integer tick are pushed into the scan of the log. Any other type is refused: a cast would silently lose
    a part of it. The cast is to `timestamp_ltz`, so that the view of the commands can be made in a session whose
    `timestamp` has no zone. The run is refused there with a clear error (`_require_zoned_timestamps`).
-#}
{% macro _tick_expr(ts, subject) -%}
case
        when typeof({{ ts }}) in ('tinyint', 'smallint', 'int', 'bigint')
            then cast({{ ts }} as bigint)
        when typeof({{ ts }}) = 'timestamp'
            then unix_micros(cast({{ ts }} as timestamp_ltz))
        else raise_error(concat(
            {{ trueup._literal(subject) }}, ' must be an integer or a timestamp.\nGot: ',
            {{ trueup._literal(ts) }}, ' of type ', typeof({{ ts }}),
            '\nCast it, for example: cast(the_column as timestamp).'
        ))
    end
{%- endmacro %}
