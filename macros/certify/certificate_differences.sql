{#-
    A select of the buckets in which `model` differs from the certificate of the last batch. A collection
    view has no errors, so the errors of the changelog are subtracted from the certificate.
-#}
{% macro _certificate_differences_select(
    model, changelog, unique_key, columns, is_state, inline_errors=none
) -%}
with

held_rows as (

    select
        {% if is_state -%}
        *,
        case when {{ trueup._is_of_its_kind_expr() }} then 1 else 2 end as _diff
        {%- else -%}
        -- By name: the column of `inline_errors` may have one of the names below.
        {{ trueup._column_list(columns | map(attribute='name')) }},
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

    select {{ trueup._digest_expr(unique_key, columns, alias='held_rows') }} as _digest, _diff from held_rows
    {%- if not is_state %}
    union all
    select {{ trueup._digest_expr(unique_key, columns, alias='kept_errors') }} as _digest, _diff
    from {{ changelog }} as kept_errors
    where
        {{ trueup._is_content_expr() }}
        and {{ '_error_key is not null' if inline_errors else '_error is not null' }}
    {%- endif %}

),

entries as (

    {{ trueup._certificate_entries_select('digested') | indent }}

),

held as (

    {{ trueup._summed_certificate_select() | indent }}

),

certified as (

    select inline(max_by(_certificate, _seq)) from {{ changelog }} where _kind = 'progress'

)

select
    coalesce(certified.bucket, held.bucket) as bucket,
    {% for name in trueup._certificate_fields() -%}
    certified.{{ name }} as certified_{{ name }},
    held.{{ name }} as held_{{ name }}{{ ',' if not loop.last }}
    {% endfor %}
from certified
full outer join held on certified.bucket = held.bucket
where not ({{ trueup._same_certificate_expr() }})
{%- endmacro %}
