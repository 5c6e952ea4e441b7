{#-
    The collection with a look ahead, as a view: the rows that it would have if every command of
    the log were settled now, each with `_is_final`. See the YAML beside this file.

    The columns are known by name only at run time, so the materialization `trueup_live` renders
    the select; what stands here names what it reads.
-#}
{% macro live(collection) -%}
    {{- config(materialized='trueup_live') -}}
    {%- do trueup._require_role('live', collection) -%}
-- depends_on: {{ ref(collection ~ '_commands') }}, {{ ref(collection ~ '_state') }}
{%- endmacro %}


{#-
    The select of the view. What is settled is read from the state, with the frontier of its own
    progress row; the steps of the commands after it are those of a batch.
-#}
{% macro look_ahead(commands, state, changelog, unique_key, columns, command_columns, extras, options) -%}
    {%- set values = trueup._value_names(columns, unique_key) -%}
    {%- set upper -%}
(select coalesce(max(_upper), {{ options.as_of }}) from {{ state }} where _kind = 'progress')
    {%- endset -%}
    {%- set sequence = trueup._sequence_terms(options) -%}
    {%- set position = ['_step', '_ts'] + sequence[:-1] -%}
    {%- set key = trueup._column_list(unique_key) -%}
with

input as (

{{ trueup.select_input(
    commands, upper, 'cast(9223372036854775807 as bigint)', unique_key, columns, command_columns,
    extras, options
) | indent(4, first=true) }}

),

persisted as (

{{ trueup.select_persisted(
    state, changelog, unique_key, values, upper, options
) | indent(4, first=true) }}

),

filled as (

{{ trueup.select_steps(
    'input', 'persisted', none, unique_key, values, extras, true, options
) | indent(4, first=true) }}

),

{% if trueup._carries_values(extras) -%}
bases as (

{{ trueup.select_bases(
    'filled', unique_key + ['_error_key'], sequence
) | indent(4, first=true) }}

),

resolved as (

{{ trueup.resolve_bases('bases', values) | indent(4, first=true) }}

),

steps as (

{{ trueup.select_carried('filled', 'resolved', values) | indent(4, first=true) }}

),

{% endif -%}

looked_ahead as (

    select
        {{ key }},
        _error_key,
        max_by(_value, struct({{ position | join(', ') }})) as _value,
        max(_step) = 0 as _is_final
    from {{ 'steps' if trueup._carries_values(extras) else 'filled' }}
    group by {{ key }}, _error_key

)

select
    {{ key }},
    {% for name in values -%}
    _value.{{ trueup._quote(name) }},
    {% endfor -%}
    _is_final
from looked_ahead
where _value is not null and _value._error is null and _error_key is null
{%- endmacro %}
