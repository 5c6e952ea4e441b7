{#-
    A select of all steps of the keys of the batch. All rows have one form: identity, `_step`,
    `_ts`, the terms of the sequence, `_cause`, `_value`. `_value` is a struct of the value columns
    and `_error`, or null for no value.

    `_step_numbers` lists the steps of a key, in sequence.

    Relations are given by name, or as selects in parentheses. `input` has the commands in the form
    of `_input_select`, or is none. `persisted` has the values that the collection had before them;
    with none, the fold starts from nothing. `corrections` has the corrections, or is none. `values` are the
    names of the value columns. `has_truncates` means that every key is touched.

    `reading` says how the persisted values and the commands are read. All of its fields may be left out:

    - `broadcasts`: Spark broadcasts the keys of the batch to the state
    - `key_range`: only the keys in that range are read
    - `is_remainder`: the commands are the remainder of a log; then the persisted values are not older than the
      commands
    - `reads_once`: the statement must not read `input` twice, because it may be a log that is not pinned
      (`is_log_pinned` of the plan)
    - `lower`: with `late: newest`, the lower of the batch
    - `tombstones_end`: with `late: newest`, the tick below which deleted keys are forgotten
    - `is_log_decisive`: with `late: newest`, the commands are all of the log, which has lost none
-#}
{% macro _steps_select(
    collection, input, persisted, values, has_truncates, corrections=none, reading={}
) -%}
    {%- set identity, extras = collection.identity, collection.extras -%}
    {%- set sequence = trueup._sequence_terms(collection.options) -%}
    {%- set changes_keys = trueup._has_carried_values(extras) -%}
    {%- set is_remainder = reading.get('is_remainder', false) -%}
    {%- set step_extras = trueup._step_extras(extras, has_truncates) -%}
    {%- set source = 'given' -%}
with

{{ trueup._given_ctes(input, corrections, identity, sequence, step_extras, reading.get('reads_once', false)) }}
{%- if persisted -%}
    {%- set source = 'prior_and_given' -%}
,
    {%- if is_remainder and changes_keys %}

{{ trueup._unknown_ctes(collection, persisted, values, step_extras, has_truncates) }}
    {%- else %}

{{ trueup._prior_ctes(collection, persisted, step_extras, has_truncates, reading) }}
    {%- endif %}
{%- endif %}
{%- if persisted and collection.options.late == 'newest' -%}
,

{{ trueup._last_places_ctes(collection, source, step_extras, reading) }},

{{ trueup._newest_ctes(collection, persisted, values, step_extras, reading) }}
    {%- set source = 'newest' -%}
{%- endif %}
{%- if has_truncates -%}
,

{{ trueup._truncations_ctes(source, identity, sequence, step_extras, is_remainder) }}
    {%- set source = 'steps_and_truncations' -%}
{%- endif %}
{%- if '_unchanged' in extras -%}
,

{{ trueup._filled_ctes(source, identity, values, sequence, changes_keys) }}
    {%- set source = 'filled' -%}
{%- endif %}

select
    {{ trueup._column_list(identity) }},
    {{ (trueup._step_columns(sequence) + (['_carrier', '_missing', '_old_key'] if changes_keys else []))
        | join(',\n    ') }}
from {{ source }}
{%- endmacro %}


{#-
    The terms that put the commands of one key and one tick in sequence; the last command wins. The
    terms are: the order; the preference for deletes or upserts, if the option `ties` has one; the
    hash of the content; the content.
-#}
{% macro _sequence_terms(options) -%}
    {%- set prefers = options.ties in ['prefer_delete', 'prefer_upsert'] -%}
    {{ return(['_order'] + (['_is_preferred'] if prefers else []) + ['_hash', '_value']) }}
{%- endmacro %}


{#-
    The columns that only some steps have, as a list of names: the columns that a command leaves unchanged, its old
    key, and whether it is a truncate.
-#}
{% macro _step_extras(extras, has_truncates=false) -%}
    {{ return(
        (['_unchanged'] if '_unchanged' in extras else [])
        + (['_old_key'] if trueup._has_carried_values(extras) else [])
        + (['_is_truncate'] if has_truncates else [])
    ) }}
{%- endmacro %}


{#- The columns of a step without its identity. -#}
{% macro _step_columns(sequence) -%}
    {{ return(['_step', '_ts', '_cause'] + sequence) }}
{%- endmacro %}


{#-
    The CTE `given`: the commands and the corrections. With `reads_once` Spark keeps them in a shuffle by key.

    Reads: the relation `input`, the relation `corrections`. Ends with: `given`.
-#}
{% macro _given_ctes(input, corrections, identity, sequence, step_extras, reads_once) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set columns = trueup._column_list(identity) -%}
given as (

    {% if reads_once -%}
    select /*+ repartition({{ columns }}) */
        {{ columns }},
        {{ trueup._once_step_expr() }} as _step,
        {{ (trueup._step_columns(sequence)[1:] + step_extras) | join(',\n        ') }}
    from (

    {% endif -%}
    {% if input -%}
    select
        {{ columns }},
        {{ step.command }} as _step,
        _ts,
        cast(null as string) as _cause,
        {{ (sequence + step_extras) | join(',\n        ') }}
    from {{ input }}
    {%- endif %}
    {%- if input and corrections %}

    union all

    {% endif -%}
    {%- if corrections -%}
    select
        {{ columns }},
        {{ step.correction }} as _step,
        _ts,
        _cause,
        {% for name in sequence[:-1] -%}
        {{ 'null' if input else 'cast(null as bigint)' }} as {{ name }},
        {% endfor -%}
        _value
        {%- for name in step_extras %},
        null as {{ name }}
        {%- endfor %}
    from {{ corrections }}
    {%- endif %}
    {%- if reads_once %}

    )
    {%- endif %}

)
{%- endmacro %}


{#- The number of commands and corrections that a batch folds, or a greater one. -#}
{% macro _folded_count(plan) -%}
    {{ return(
        (plan.commands_read if plan.takes_late else plan.commands_ahead) + plan.correction_count
    ) }}
{%- endmacro %}
