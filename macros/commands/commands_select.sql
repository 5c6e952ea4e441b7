{#-
    A select of the commands of a log, one row each. `given` has the checked arguments of
    `trueup.commands`, each under its first name. It also has the results of `_ignored_nulls` (as
    `ignored_nulls`) and `_tick_and_order`.
-#}
{% macro _commands_select(given, key) -%}
    {%- set options = trueup._options() -%}
    {%- set null_key_is_error = key | length == 1 and options.null_keys == 'error' -%}
    {%- set values = trueup._values_list(given, key) -%}
    {%- set unchanged = trueup._unchanged_expr(given, key) -%}
with log as (
    select * from {{ trueup._marked_log(given.relation) }}
)

{{ trueup._log_boundary() }}
select
    {{ trueup._column_list(key) }},
    {{ values }},
    {% if given.ts -%}
    {{ trueup._tick_expr(given.ts, given.ts_subject) }} as _ts,
    {%- else -%}
    cast(null as bigint) as _ts,
    {%- endif %}
    named_struct(
        {%- for term in given.sequence_by %}
        '_{{ loop.index }}', {{ term }}{{ ',' if not loop.last }}
        {%- endfor %}
    ) as _order,
    {{ trueup._op_expr(given.delete_when, given.truncate_when) }} as _op,
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
    cast({{ trueup._quoted(given.reclock[0]) }} as string) as _partition,
    {{ trueup._offset_expr(given.reclock[1]) }} as _offset
    {%- endif %}
    {%- if given.arrived -%},
    {{ given.arrived }} as _arrived
    {%- endif %}
from log
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
    An offset as a bigint. Any type but an integer raises at run time. A cast could give two
    commands the same offset, and the second one would look like a command that was already seen.
-#}
{% macro _offset_expr(name) -%}
    {%- set column = trueup._quoted(name) -%}
case
        when typeof({{ column }}) in ('tinyint', 'smallint', 'int', 'bigint')
            then cast({{ column }} as bigint)
        else raise_error(concat(
            {{ trueup._literal(trueup._argument('commands', 'reclock')) }},
            ' must end with a column of integers, the offset.\nGot: ',
            {{ trueup._literal(name) }}, ' of type ', typeof({{ column }})
        ))
    end
{%- endmacro %}
