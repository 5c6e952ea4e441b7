{#-
    A select of all that happens to the keys of the batch, in one row form: identity, `_step`, `_ts`,
    the terms of the sequence, `_cause`, `_value`. `_value` is a struct of the value columns and
    `_error`, or null for no value.

    Steps of a key, in sequence: 0 what is persisted (no `_ts`), 1 a correction at the lower,
    2 the commands.

    Relations are given by name, or as selects in parentheses. `input` has the commands, as
    `_input_select` brings them into form, or is none, and `persisted` the values that the collection
    had before them; with none the fold is one from nothing. `corrections` has step 1, or is none.
    `values` are the names of the value columns. Truncates touch every key: `has_truncates`.

    `prior` says how what is persisted is read: with `broadcasts` the keys of the batch go to where the
    state is read; of that, only the keys in `key_range` are, if there is one. Of commands that are the
    remainder of a log, `is_remainder`, what is persisted is not older than they are.
-#}
{% macro _steps_select(
    collection, input, persisted, values, has_truncates, corrections=none, prior={}
) -%}
    {%- set identity, extras = collection.identity, collection.extras -%}
    {%- set sequence = trueup._sequence_terms(collection.options) -%}
    {%- set changes_keys = trueup._has_carried_values(extras) -%}
    {%- set is_remainder = prior.get('is_remainder', false) -%}
    {%- set marks = ['_unchanged'] if '_unchanged' in extras else [] -%}
    {%- set marks = marks + (['_old_key'] if changes_keys else []) -%}
    {%- set marks = marks + (['_is_truncate'] if has_truncates else []) -%}
    {%- set source = 'given' -%}
with

{{ trueup._given_ctes(input, corrections, identity, sequence, marks) }}
{%- if persisted -%}
    {%- set source = 'prior_and_given' -%}
,
    {%- if is_remainder and changes_keys %}

{{ trueup._unknown_ctes(collection, persisted, values, marks, has_truncates) }}
    {%- else %}

{{ trueup._prior_ctes(collection, persisted, marks, every_key=has_truncates, prior=prior) }}
    {%- endif %}
{%- endif %}
{%- if has_truncates -%}
,

{{ trueup._truncations_ctes(source, identity, sequence, marks, is_remainder) }}
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
    What puts the commands of one key and one tick in sequence, the last one wins: the order; where
    the option `ties` prefers deletes or upserts, that; the hash of the content; the content.
-#}
{% macro _sequence_terms(options) -%}
    {%- set prefers = options.ties in ['prefer_delete', 'prefer_upsert'] -%}
    {{ return(['_order'] + (['_is_preferred'] if prefers else []) + ['_hash', '_value']) }}
{%- endmacro %}


{#- The columns of a step beside its identity. -#}
{% macro _step_columns(sequence) -%}
    {{ return(['_step', '_ts', '_cause'] + sequence) }}
{%- endmacro %}


{#-
    The CTE `given`: the commands and the corrections.

    Reads: the relation `input`, the relation `corrections`. Ends with: `given`.
-#}
{% macro _given_ctes(input, corrections, identity, sequence, marks) -%}
    {%- set columns = trueup._column_list(identity) -%}
given as (

    {% if input -%}
    select
        {{ columns }},
        2 as _step,
        _ts,
        cast(null as string) as _cause,
        {{ (sequence + marks) | join(',\n        ') }}
    from {{ input }}
    {%- endif %}
    {%- if input and corrections %}

    union all

    {% endif -%}
    {%- if corrections -%}
    select
        {{ columns }},
        1 as _step,
        _ts,
        _cause,
        {% for name in sequence[:-1] -%}
        {{ 'null' if input else 'cast(null as bigint)' }} as {{ name }},
        {% endfor -%}
        _value
        {%- for name in marks %},
        null as {{ name }}
        {%- endfor %}
    from {{ corrections }}
    {%- endif %}

)
{%- endmacro %}


{#-
    CTEs that put what is persisted before what is given.

    Reads: `given`, the relation `persisted`. Ends with: `prior_and_given`.
-#}
{% macro _prior_ctes(collection, persisted, marks, every_key, prior) -%}
    {%- set identity, sequence = collection.identity, trueup._sequence_terms(collection.options) -%}
    {%- set changes_keys = trueup._has_carried_values(collection.extras) -%}
    {%- set key_range = prior.get('key_range') -%}
    {%- set columns = trueup._column_list(identity) -%}
{% if not every_key -%}
-- Whose value before the batch has to be known; of a key that changes, the old one's.
touched as (

    select {{ columns }} from given
    {%- if changes_keys %}
    union all
    select _old_key.*, null as _error_key from given where _old_key is not null
    {%- endif %}

),

{% endif -%}
-- Rule: the prior value is what is persisted, never what a run believes that it wrote.
{% if not every_key -%}
-- One number is looked up sooner than a key. A key that has the hash of another comes along, but
-- nothing is done to it, so that it leaves no trace.
{% endif -%}
prior as (

    select {%- if prior.get('broadcasts') and not every_key %} /*+ broadcast(touched) */{% endif %}
        {{ columns }},
        0 as _step,
        cast(null as bigint) as _ts,
        cast(null as string) as _cause,
        {% for name in sequence[:-1] -%}
        null as {{ name }},
        {% endfor -%}
        _value
        {%- for name in marks %},
        null as {{ name }}
        {%- endfor %}
    from {{ persisted }} as persisted
    {%- if not every_key %}
    left semi join touched
        on {{ trueup._key_hash_expr(identity, 'persisted') }}
        = {{ trueup._key_hash_expr(identity, 'touched') }}
    {%- endif %}
    {%- if key_range %}
    where {{ trueup._in_key_range_expr(key_range, 'persisted.' ~ trueup._quoted(identity[0])) }}
    {%- endif %}

),

prior_and_given as (

    select * from prior
    union all
    {% if key_range -%}
    {%- set key = trueup._quoted(identity[0]) -%}
    select
        {{ columns }},
        {{ trueup._assert_in_range_expr(
            '_step',
            [trueup._in_key_range_expr(key_range, key)]
            + ([trueup._in_key_range_expr(key_range, '_old_key.' ~ key)] if changes_keys else [])
        ) }} as _step,
        {{ (trueup._step_columns(sequence)[1:] + marks) | join(',\n        ') }}
    from given
    {%- else -%}
    select * from given
    {%- endif %}

)
{%- endmacro %}
