{#-
    Fails where a table is not what the certificates of its changelog say: on each bucket of keys of
    a state or of a collection view, on each batch of a changelog. Which of them `model` is, is seen
    from its columns, which this test asks the warehouse for, as no model does.
-#}
{% test matches_certificate(model, unique_key, changelog=none, inline_errors=none) %}
    {%- do trueup._require_list(
        trueup._argument('matches_certificate', 'unique_key'), unique_key
    ) -%}
    {%- if execute and flags.WHICH in ['compile', 'generate'] -%}
{#- Who only compiles need not have run anything yet. -#}
select * from {{ model }}
    {%- elif execute -%}
        {%- set names = trueup._get_columns('select * from ' ~ model) | map(attribute='name') | list -%}
        {%- if '_certificate' in names -%}
{{ trueup._damaged_batches_select(model, unique_key, trueup._get_user_columns(model)) }}
        {%- else -%}
            {%- if not changelog -%}
                {%- do trueup._raise_error(
                    trueup._argument('matches_certificate', 'changelog'),
                    'the changelog of the collection, such as ref(\'files_changelog\')', changelog
                ) -%}
            {%- endif -%}
{{ trueup._certificate_differences_select(
    model, changelog, unique_key, trueup._get_user_columns(changelog),
    is_state='_kind' in names, inline_errors=inline_errors
) }}
        {%- endif -%}
    {%- endif -%}
{% endtest %}


{#-
    A select of the buckets in which `model` differs from the certificate of the last batch. A view
    of the collection lacks errors: they are taken out of the certificate, as the changelog has them.
-#}
{% macro _certificate_differences_select(
    model, changelog, unique_key, columns, is_state, inline_errors=none
) -%}
    {%- set sums = trueup._certificate_sums() + ['value_xor'] -%}
with

held_rows as (

    select
        {% if is_state -%}
        *,
        case when _kind <=> {{ trueup._kind_expr('_error') }} then 1 else 0 end as _diff
        {%- else -%}
        *,
        {{ trueup._quoted(inline_errors) if inline_errors else 'cast(null as string)' }} as _error,
        cast(null as string) as _error_key,
        1 as _diff
        {%- endif %}
    from {{ model }}
    {%- if is_state %}
    where not (_kind <=> 'progress')
    {%- endif %}

),

digested as (

    select {{ trueup._digest_expr(unique_key, columns) }} as _digest, _diff from held_rows
    {%- if not is_state %}
    union all
    select {{ trueup._digest_expr(unique_key, columns) }} as _digest, _diff
    from {{ changelog }}
    where
        _kind = 'update'
        and {{ '_error_key is not null' if inline_errors else '_error is not null' }}
    {%- endif %}

),

entries as (

    {{ trueup._certificate_entries_select('digested') | indent }}

),

held as (

    {{ trueup._summed_certificate_select('entries') | indent }}

),

certified as (

    select inline(max_by(_certificate, _seq)) from {{ changelog }} where _kind = 'progress'

)

select
    coalesce(certified.bucket, held.bucket) as bucket,
    {% for name in sums -%}
    certified.{{ name }} as certified_{{ name }},
    held.{{ name }} as held_{{ name }}{{ ',' if not loop.last }}
    {% endfor %}
from certified
full outer join held on certified.bucket = held.bucket
where not ({{ trueup._same_sums_expr('certified', 'held') }})
{%- endmacro %}
