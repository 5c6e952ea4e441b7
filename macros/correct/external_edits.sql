{#-
    The changes of a heal, as a select with the columns of the corrections: one row for each row of the
    state that should not exist, is missing, or is different. If `buckets` is none, all buckets are compared.
-#}
{% macro _external_edits_select(collection, plan, columns, buckets) -%}
    {%- set unique_key, names = collection.unique_key, collection.identity -%}
    {%- set identity = trueup._column_list(names) -%}
    {%- set values = trueup._value_names(columns, unique_key) -%}
    {%- set value = 'struct(' ~ trueup._column_list(values + ['_error']) ~ ')' -%}
with

{{ trueup._truth_ctes(collection, columns, plan.last_seq, buckets) }},

held as (

    select
        {{ identity }},
        {{ value }} as _value,
        {{ trueup._is_of_its_kind_expr() }} as _is_of_its_kind
    from {{ collection.state }} as persisted
    where
        not (_kind <=> 'progress')
        {%- if buckets is not none %}
        and {{ trueup._in_buckets_expr(unique_key, columns, buckets, alias='persisted') }}
        {%- endif %}

),

-- If a key is in the state more than once, every one of its rows is an edit.
counted as (

    select *, count(*) over (partition by {{ identity }}) as _step_rows from held

)

select
    {% for name in names -%}
    {%- set name = trueup._quoted(name) -%}
    coalesce(truth.{{ name }}, counted.{{ name }}) as {{ name }},
    {% endfor -%}
    counted._value as _persisted,
    truth._value as _desired,
    'external_edit' as _cause,
    cast({{ plan.seq }} as bigint) as _seq,
    cast({{ plan.lower }} as bigint) as _ts,
    {{ trueup._literal_or_null(plan.last_batch_id) }} as _after_batch_id
from truth
full outer join counted
    on {{ trueup._same_key_expr(names, 'truth', 'counted') }}
where
    not (truth._value <=> counted._value)
    or counted._step_rows > 1
    or not counted._is_of_its_kind
{%- endmacro %}
