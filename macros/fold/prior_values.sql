{#-
    CTEs that put the persisted values before the `given` steps.

    Reads: `given`, the relation `persisted`. Ends with: `prior_and_given`.
-#}
{% macro _prior_ctes(collection, persisted, step_extras, has_truncates, reading) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set identity, sequence = collection.identity, trueup._sequence_terms(collection.options) -%}
    {%- set changes_keys = trueup._has_carried_values(collection.extras) -%}
    {%- set key_range = reading.get('key_range') -%}
    {%- set columns = trueup._column_list(identity) -%}
{% if not has_truncates -%}
-- The keys whose prior value is needed. A change of key needs the prior value of the old key.
touched as (

    select {{ columns }} from given
    {%- if changes_keys %}
    union all
    select _old_key.*, null as _error_key from given where _old_key is not null
    {%- endif %}
    {%- if collection.options.late == 'newest' %}
    union all
    select {{ trueup._column_list(identity[:-1]) }}, {{ trueup._order_key_expr() }} as _error_key from given
    {%- endif %}

),

{% endif -%}
-- Rule: the prior value is read from the persisted rows, never from the memory of a run.
{% if not has_truncates -%}
-- Join on the hash: one number compares faster than a key. If another key has the same hash, it is
-- read too, but it has no commands, so it emits no updates.
{% endif -%}
prior as (

    select {%- if reading.get('broadcasts') and not has_truncates %} /*+ broadcast(touched) */{% endif %}
        {{ columns }},
        {{ step.prior }} as _step,
        {{ '_ts' if collection.options.late == 'newest' else 'cast(null as bigint) as _ts' }},
        cast(null as string) as _cause,
        {% for name in sequence[:-1] -%}
        null as {{ name }},
        {% endfor -%}
        _value
        {%- for name in step_extras %},
        null as {{ name }}
        {%- endfor %}
    from {{ persisted }} as persisted
    {%- if not has_truncates %}
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
        {{ (trueup._step_columns(sequence)[1:] + step_extras) | join(',\n        ') }}
    from given
    {%- else -%}
    select * from given
    {%- endif %}

)
{%- endmacro %}
