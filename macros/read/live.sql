{#-
    The collection with a look ahead, as a view: the rows that it would have if every command of the log
    were settled now, each with `_is_final`. See the YAML beside this file.

    The column names are known only at run time, so the materialization `trueup_live` renders the select.
    The text here only names the models that it reads.
-#}
{% macro live(collection) -%}
    {{- config(materialized='trueup_live') -}}
    {%- do trueup._require_role('live', collection) -%}
-- depends_on: {{ trueup._ref(collection, 'commands') }}, {{ trueup._ref(collection, 'state') }}
{%- endmacro %}


{#-
    The select of the view. Settled rows are read from the state, with the frontier of the state's progress
    row. Later commands become steps in the same way as in a batch.
-#}
{% macro _live_select(collection, columns) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set unique_key, extras = collection.unique_key, collection.extras -%}
    {%- set options, state = collection.options, collection.state -%}
    {%- set values = trueup._value_names(columns, unique_key) -%}
    {%- set upper -%}
(select coalesce(max(_upper), {{ trueup._first_tick_expr(options) }}) from {{ state }} where _kind = 'progress')
    {%- endset -%}
    {%- set sequence = trueup._sequence_terms(options) -%}
    {%- set position = ['_step', '_ts'] + sequence[:-1] -%}
    {%- set key = trueup._column_list(unique_key) -%}
    {%- set is_reclocked = '_offset' in extras -%}
with

{% if is_reclocked -%}
commands_ahead as (

{{ trueup._reclocked_ahead_select(collection) }}

),

{% endif -%}
input as (

{{ trueup._input_select(
    dict(collection, commands='commands_ahead') if is_reclocked else collection, columns, upper,
    trueup._greatest_upper_expr()
) }}

),

persisted as (

{{ trueup._persisted_select(collection, columns, upper) }}

),

steps as (

{{ trueup._resolved_steps_select(
    collection, trueup._steps_select(collection, 'input', 'persisted', values, has_truncates=true), values
) }}

),

looked_ahead as (

    select
        {{ key }},
        _error_key,
        max_by(_value, struct({{ position | join(', ') }})) as _value,
        count_if(_step <> {{ step.prior }}) = 0 as _is_final
    from steps
    group by {{ key }}, _error_key

)

select
    {{ key }},
    {% for name in values -%}
    _value.{{ trueup._quoted(name) }},
    {% endfor -%}
    _is_final
from looked_ahead
where _value is not null and _value._error is null and _error_key is null
{%- endmacro %}


{#-
    The commands of a log without ticks that no batch has settled, as a select. All of them get the next
    tick. The view reads what is settled whenever it is queried: each partition is settled up to its next
    offset. The progress row of the state's last batch has these offsets.
-#}
{% macro _reclocked_ahead_select(collection) -%}
with

applied as (

    select
        max(_seq) as _seq,
        coalesce(max(_upper), {{ collection.options.as_of or 0 }}) as _next_ts
    from {{ collection.state }}
    where _kind = 'progress'

),

settled as (

    select
        applied._next_ts,
        {{ trueup._next_offsets_expr('progress._statistics.partitions') }} as _next_offsets
    from applied
    left join {{ collection.changelog }} as progress
        on progress._kind = 'progress' and progress._seq = applied._seq

)

select
    commands.* except (_ts),
    settled._next_ts as _ts
from {{ collection.source }} as commands
cross join settled
where
    _partition is not null
    and _offset >= coalesce(try_element_at(_next_offsets, _partition), _offset)
{%- endmacro %}


{#- Raises if a column of the commands has another type than in the changelog: the view would cast its values. -#}
{% macro _require_types_of_changelog(collection, columns) -%}
    {%- set changes, found = trueup._schema_changes(collection.command_columns, columns), [] -%}
    {%- for column in changes.widened + changes.changed -%}
        {%- do found.append(trueup._type_change(column)) -%}
    {%- endfor -%}
    {%- if found -%}
        {%- do trueup._raise_error(
            'Each column of ' ~ collection.name ~ '_commands', 'of the type that it has in ' ~ collection.changelog,
            found | join('; '),
            'The view is not made. Run the whole collection first: dbt run -s ' ~ collection.name ~ '_commands+.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
