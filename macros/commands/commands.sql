{#-
    A select of the commands of a log, one row each: key columns, value columns, `_ts`, `_order`,
    `_op`, `_error`, `_error_key`, and what only some logs have: `_unchanged`, `_old_key`,
    `_partition` and `_offset`. See the YAML beside this file.

    The arguments after `reclock` are the names that AUTO CDC has for those before.
-#}
{% macro commands(
    relation, ts=none, sequence_by=none, delete_when=none, truncate_when=none,
    columns=none, except_columns=none, error=none, error_key=none,
    ignore_null_updates=none, unchanged_value=none, unchanged=none, old_key=none, reclock=none,
    keys=none, apply_as_deletes=none, apply_as_truncates=none,
    column_list=none, except_column_list=none,
    ignore_null_updates_column_list=none, ignore_null_updates_except_column_list=none
) -%}
    {{- config(materialized='trueup_commands') -}}
    {%- if keys is not none -%}
        {{- config(unique_key=keys) -}}
    {%- endif -%}
    {%- set given = {
        'relation': relation, 'ts': ts, 'sequence_by': sequence_by, 'error': error,
        'error_key': error_key, 'unchanged_value': unchanged_value, 'unchanged': unchanged,
        'old_key': old_key, 'reclock': reclock,
        'delete_when': trueup._either('delete_when', delete_when,
            'apply_as_deletes', apply_as_deletes),
        'truncate_when': trueup._either('truncate_when', truncate_when,
            'apply_as_truncates', apply_as_truncates),
        'columns': trueup._either('columns', columns, 'column_list', column_list),
        'except_columns': trueup._either('except_columns', except_columns,
            'except_column_list', except_column_list),
        'ignore_null_updates': trueup._ignored_nulls(ignore_null_updates,
            ignore_null_updates_column_list, ignore_null_updates_except_column_list),
    } -%}
    {%- set key = trueup._unique_key('commands') -%}
    {%- set given = trueup._checked_commands_arguments(given, key) -%}
    {%- set options = trueup._options() -%}
    {%- set null_key_is_error = key | length == 1 and options.null_keys == 'error' -%}
    {%- set values = trueup._values_list(key, given.columns, given.except_columns) -%}
with log as (
    select * from {{ given.relation }}
)

{{ trueup._log_ends_here() }}
select
    {{ trueup._column_list(key) }},
    {{ values }},
    {% if given.ts -%}
    {{ trueup._tick_expr(given.ts, trueup._argument('commands', 'ts')) }} as _ts,
    {%- else -%}
    cast(null as bigint) as _ts,
    {%- endif %}
    named_struct(
        {%- for term in given.sequence_by %}
        '_{{ loop.index }}', {{ term }}{{ ',' if not loop.last }}
        {%- endfor %}
    ) as _order,
    {{ trueup._op_expr(given.delete_when, given.truncate_when) }} as _op,
    cast({{ error or 'null' }} as string) as _error,
    {% if null_key_is_error -%}
    coalesce(
        cast({{ error_key or 'null' }} as string),
        case when {{ trueup._quote(key[0]) }} is null then 'null' end
    ) as _error_key
    {%- else -%}
    cast({{ error_key or 'null' }} as string) as _error_key
    {%- endif %}
    {%- if unchanged or unchanged_value is not none or given.ignore_null_updates -%},
    {{ trueup._unchanged_expr(
        values, unchanged, unchanged_value, given.ignore_null_updates
    ) }} as _unchanged
    {%- endif %}
    {%- if old_key -%},
    {{ old_key }} as _old_key
    {%- endif %}
    {%- if reclock -%},
    cast({{ trueup._quote(reclock[0]) }} as string) as _partition,
    cast({{ trueup._quote(reclock[1]) }} as bigint) as _offset
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


{#- The value columns, as a list of select items. -#}
{% macro _values_list(key, columns, except_columns) -%}
    {%- if columns -%}
        {{ return(trueup._column_list(columns)) }}
    {%- endif -%}
    {{ return(trueup._all_but(key + (except_columns or []))) }}
{%- endmacro %}


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
    The logical time as a bigint: an integer as it is, a timestamp in microseconds since 1970. A
    decimal holds both exactly, and is how one expression can be of either type. Any other type
    is refused when the query runs: a cast would lose a part of it silently.
-#}
{% macro _tick_expr(ts, subject) -%}
case
        when typeof({{ ts }}) in ('tinyint', 'smallint', 'int', 'bigint')
            then cast(cast({{ ts }} as decimal(38, 6)) as bigint)
        when typeof({{ ts }}) = 'timestamp'
            then cast(cast({{ ts }} as decimal(38, 6)) * 1000000 as bigint)
        else raise_error(concat(
            {{ trueup._literal(subject) }}, ' must be an integer or a timestamp.\nGot: ',
            {{ trueup._literal(ts) }}, ' of type ', typeof({{ ts }})
        ))
    end
{%- endmacro %}


{#-
    The names of the value columns that a command leaves as they are: those that the source names
    (`unchanged`), those with its marker (`unchanged_value`, also as the bytes of a binary column),
    and those with a null where nulls are ignored. One pass over the values as JSON texts, so that
    no column has to be known by name.
-#}
{% macro _unchanged_expr(values, unchanged, unchanged_value, ignored_nulls) -%}
    {%- set conditions = [] -%}
    {%- if unchanged_value is not none -%}
        {%- set marker = trueup._literal(unchanged_value) -%}
        {%- do conditions.append('value in (' ~ marker ~ ', base64(' ~ marker ~ '))') -%}
    {%- endif -%}
    {%- if ignored_nulls -%}
        {%- set names = [] -%}
        {%- for name in ignored_nulls.columns -%}
            {%- do names.append(trueup._literal(name | lower)) -%}
        {%- endfor -%}
        {%- do conditions.append('value is null' ~ (
            '' if not names
            else ' and lower(name) ' ~ ('not in (' if ignored_nulls.is_except else 'in (')
                ~ (names | join(', ')) ~ ')'
        )) -%}
    {%- endif -%}
    {%- if not conditions -%}
        {{ return('cast(' ~ unchanged ~ ' as array<string>)') }}
    {%- endif -%}
    {%- set named -%}
map_keys(map_filter(
        from_json(
            to_json(struct({{ values }}), map('ignoreNullFields', 'false')), 'map<string, string>'
        ),
        (name, value) -> coalesce({{ conditions | join(' or ') }}, false)
    ))
    {%- endset -%}
    {%- if not unchanged -%}
        {{ return(named) }}
    {%- endif -%}
    {{ return('array_union(coalesce(cast(' ~ unchanged ~ ' as array<string>), array()), '
        ~ named ~ ')') }}
{%- endmacro %}
