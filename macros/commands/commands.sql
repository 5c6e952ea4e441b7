{#-
    A select of the commands of a log, one row each: key columns, value columns, `_ts`,
    `_order`, `_op`, `_error`, `_error_key`. See the YAML beside this file.

    The key is the model's `unique_key`. With `columns`, exactly these are the values;
    without, every column of the log that is not part of the key.
-#}
{% macro commands(
    relation, ts, sequence_by, delete_when=none, columns=none, error=none, error_key=none
) -%}
    {{- config(materialized='trueup_commands') -}}
    {%- set key = trueup._unique_key('commands') -%}
    {%- set options = trueup._options() -%}
    {%- if relation is none or not (relation | string).strip() -%}
        {%- do trueup._refuse(trueup._argument('commands', 'relation'), 'a relation', relation) -%}
    {%- endif -%}
    {%- do trueup._require_expression('commands', 'ts', ts) -%}
    {%- do trueup._require_list(
        trueup._argument('commands', 'sequence_by'), sequence_by, are_names=false
    ) -%}
    {%- if columns is not none -%}
        {%- do trueup._require_list(trueup._argument('commands', 'columns'), columns) -%}
        {%- for name in columns if name | lower in key | map('lower') -%}
            {%- do trueup._refuse(
                trueup._argument('commands', 'columns'), 'free of key columns', name
            ) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- for argument, expression in {
        'delete_when': delete_when, 'error': error, 'error_key': error_key
    }.items() if expression is not none -%}
        {%- do trueup._require_expression('commands', argument, expression) -%}
    {%- endfor -%}
    {%- set null_key_is_error = key | length == 1 and options.null_keys == 'error' -%}
with log as (
    select * from {{ relation }}
)

{{ trueup._log_ends_here() }}
select
    {{ trueup._column_list(key) }},
    {{ trueup._column_list(columns) if columns else trueup._all_but(key) }},
    {{ trueup._tick_expr(ts, trueup._argument('commands', 'ts')) }} as _ts,
    named_struct(
        {%- for term in sequence_by %}
        '_{{ loop.index }}', {{ term }}{{ ',' if not loop.last }}
        {%- endfor %}
    ) as _order,
    {% if delete_when -%}
    case when {{ delete_when }} then 'delete' else 'upsert' end as _op,
    {%- else -%}
    'upsert' as _op,
    {%- endif %}
    cast({{ error or 'null' }} as string) as _error,
    {% if null_key_is_error -%}
    coalesce(
        cast({{ error_key or 'null' }} as string),
        case when {{ trueup._quote(key[0]) }} is null then 'null' end
    ) as _error_key
    {%- else -%}
    cast({{ error_key or 'null' }} as string) as _error_key
    {%- endif %}
from log
{%- endmacro %}


{#-
    A line of the select: what stands before it reads the log, nothing else. The materialization
    cuts here to ask for the log's columns, because a relation cannot be handed to it.
-#}
{% macro _log_ends_here() -%}
    {{ return('-- the commands of the log') }}
{%- endmacro %}


{#-
    The logical time as a bigint. A type that is no integer is refused when the query runs:
    a cast would turn a timestamp into seconds and a decimal into its whole part, silently.
-#}
{% macro _tick_expr(ts, subject) -%}
case
        when typeof({{ ts }}) in ('tinyint', 'smallint', 'int', 'bigint')
            then cast({{ ts }} as bigint)
        else raise_error(concat(
            {{ trueup._literal(subject) }}, ' must be an integer expression.\nGot: ',
            {{ trueup._literal(ts) }}, ' of type ', typeof({{ ts }})
        ))
    end
{%- endmacro %}
