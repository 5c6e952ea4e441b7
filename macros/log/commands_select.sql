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
    {%- set options = trueup._store_options(true) -%}
    {%- set null_key_is_error = key | length == 1 and options.null_keys == 'error' -%}
    {%- set unchanged = trueup._unchanged_expr(given, key) -%}
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
        '_{{ loop.index }}', {{ term }}{{ ',' if not loop.last }}
        {%- endfor %}
    ) as _order,
    {%- if tick %}
    {{ tick }} as _ts,
    {%- endif %}
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
from log
{%- if given.skip_when %}
where not coalesce({{ given.skip_when }}, false)
{%- endif %}
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
