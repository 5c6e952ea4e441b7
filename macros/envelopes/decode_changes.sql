{#-
    CTEs that turn `changes`, the row changes in the messages of an envelope, into the decoded log. The decoded log has key
    columns, value columns and one struct `_command` with the other inputs of `trueup.commands`. Each change is one row. A
    change that moves a row to another key is two rows.

    `changes` has: `ts`; `sequence`, a struct; `op` (`upsert`, `delete`, `truncate`, or null for no command); `error`;
    `row_fields`, `key_fields` and `old_key_fields` (the key before, or null), maps of variants; `key_bytes`, which identifies
    a bad key and is null for a missing key; `old_key_bytes`, which identifies a bad old key and is null if the log also has
    a delete of that key; `is_key_changed`, true if the old key is certainly another key; `absent_is_unchanged`.

    Reads: `changes`. Ends with: `decoded`.
-#}
{% macro _decoded_changes_ctes(key, values, marks=none, binary_format='base64') -%}
parsed as (

    select
        *,
        {{ trueup._read_fields_expr('key_fields', key, binary_format=binary_format) }} as key,
        {{ trueup._read_fields_expr('old_key_fields', key, binary_format=binary_format) }} as before,
        {{ trueup._read_fields_expr('row_fields', values, marks, binary_format) }} as row_read
    from changes

),

keyed as (

    select
        *,
        key.error is null and size(key.absent) = 0 as is_key_good,
        -- If all columns are null, there is no old key.
        before.error is null and size(before.absent) = 0
            and ({{ trueup._any_not_null_expr(key, 'before.value') }}) as is_old_key_good
    from parsed

),

-- Rule: a change of key is a delete of the old key and an upsert of the new one.
moves as (

    select
        *,
        case
            when op = 'upsert' and is_old_key_good
                and (is_key_changed or is_key_good) and not (before.value <=> key.value)
                then before.value
        end as old_key,
        -- Otherwise the error of a bad old key would stay.
        case
            when op = 'upsert' and before.error is not null
                and (is_key_good or not (old_key_bytes <=> key_bytes))
                then concat('x', lower(hex(cast(old_key_bytes as binary))))
        end as old_error_key
    from keyed

),

sides as (

    select
        *,
        explode(case
            when op is null then array()
            when old_key is not null or old_error_key is not null then array(true, false)
            else array(false)
        end) as is_old_side
    from moves

),

decoded as (

    select
        {%- for name in key %}
        case when is_old_side then old_key.{{ trueup._quoted(name) }}
            else key.value.{{ trueup._quoted(name) }} end as {{ trueup._quoted(name) }},
        {%- endfor %}
        {%- for name in values %}
        case when not is_old_side then row_read.value.{{ trueup._quoted(name) }} end
            as {{ trueup._quoted(name) }},
        {%- endfor %}
        named_struct(
            'ts', ts,
            'sequence', sequence,
            'op', case when is_old_side then 'delete' else op end,
            'error', case
                when op = 'upsert' and not is_old_side then coalesce(error, row_read.error)
            end,
            'error_key', case
                when is_old_side then old_error_key
                when op = 'truncate' or is_key_good then null
                when key_bytes is null then 'null'
                else concat('x', lower(hex(cast(key_bytes as binary))))
            end,
            'unchanged', case
                when op = 'upsert' and not is_old_side then concat(
                    {{ 'row_read.marked' if marks else 'array()' }},
                    case when absent_is_unchanged then row_read.absent else array() end
                )
            end,
            'old_key', case when is_key_good and not is_old_side then old_key end
        ) as _command
    from sides

)
{%- endmacro %}


{#-
    `trueup.commands` over a decoded log. Here nothing but the decoding stands between the log and the commands, so the log
    of the messages is that of the commands. A message without any position has no order.
-#}
{% macro _decoded_commands_select(decoded, values, has_tick) -%}
    {{ return(trueup.commands(
        relation='(\n' ~ (decoded | replace(trueup._messages_mark(), trueup._log_mark())) ~ '\n)',
        ts='_command.ts' if has_tick else none,
        sequence_by=["if(to_json(_command.sequence) = '{}', null, _command.sequence)"],
        delete_when="_command.op = 'delete'",
        truncate_when="_command.op = 'truncate'",
        columns=values | list,
        error='_command.error',
        error_key='_command.error_key',
        unchanged='_command.unchanged',
        old_key='_command.old_key'
    )) }}
{%- endmacro %}


{#- The expressions as a struct, which sorts like the expressions one after the other. -#}
{% macro _sequence_expr(expressions) -%}
    {%- set fields = [] -%}
    {%- for expression in expressions -%}
        {%- do fields.append("'_" ~ loop.index ~ "', " ~ expression) -%}
    {%- endfor -%}
    {{ return('named_struct(' ~ (fields | join(', ')) ~ ')') }}
{%- endmacro %}


{#- Whether a map of variants has all key columns. It is false for a map that is null. -#}
{% macro _has_key_expr(fields, key) -%}
    {%- set terms = [] -%}
    {%- for name in key -%}
        {%- do terms.append('map_contains_key(' ~ fields ~ ', ' ~ trueup._literal(name) ~ ')') -%}
    {%- endfor -%}
    {{ return('coalesce(' ~ (terms | join(' and ')) ~ ', false)') }}
{%- endmacro %}


{#- The error of a delete that has only a part of the key, as an expression. -#}
{% macro _part_of_key_error_expr(key, body) -%}
    {{ return(
        'concat(' ~ trueup._literal('A delete must have all columns of the key: ' ~ (key | join(', ')) ~ '. Got: ')
        ~ ', left(' ~ body ~ ', 100))'
    ) }}
{%- endmacro %}


{#- The key columns in a map of variants, as JSON. Null if the map has none of them. -#}
{% macro _key_json_expr(fields, key) -%}
    {{ return(
        'nullif(to_json(map_filter(' ~ fields ~ ', (_name, _one) -> _name in ('
        ~ trueup._literal_list(key) ~ "))), '{}')"
    ) }}
{%- endmacro %}
