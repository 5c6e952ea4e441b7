{#-
    A select of the commands of a log, one row each: the body of a model whose `trueup.commands` has a key and an order.
    `given` has the arguments, each under its first name.
-#}
{% macro _commands_of_store(given, keys) -%}
    {%- set key = trueup._names(keys) if model.resource_type == 'unit_test' else trueup._unique_key_of_model() if execute else [] -%}
    {%- set sequence = [given.sequence_by] if given.sequence_by is string else given.sequence_by -%}
    {%- do trueup._require_list(trueup._argument('commands', 'sequence_by'), sequence, are_names=false) -%}
    {%- for name in ['ts', 'reclock'] if given[name] is not none -%}
        {%- do trueup._raise_error(
            trueup._argument('commands', name), 'left out of a model with the materialization `trueup`', given[name],
            'This form does not have it yet. Write the seven models of docs/start.md.'
        ) -%}
    {%- endfor -%}
    {%- do trueup._require_arguments(given, key) -%}
    {%- if given.skip_when is not none -%}
        {%- do trueup._require_expression('commands', 'skip_when', given.skip_when) -%}
    {%- endif -%}
    {%- set options = trueup._store_options(true) -%}
    {%- set null_key_is_error = key | length == 1 and options.null_keys == 'error' -%}
    {%- set unchanged = trueup._unchanged_expr(given, key) -%}
with log as (
    select * from {{ trueup._marked_log(given.relation) }}
)

{{ trueup._log_boundary() }}
select
    {{ trueup._column_list(key) }},
    {{ trueup._values_list(given, key) }},
    named_struct(
        '_epoch', 0,
        {%- for term in sequence %}
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
from log
{%- if given.skip_when %}
where not coalesce({{ given.skip_when }}, false)
{%- endif %}
{%- endmacro %}
