{#-
    Fails if a table differs from the certificates of its changelog: on each bucket of keys of a state or of
    a collection view, on each batch of a changelog. The columns of `model` show which kind it is. So this
    test queries the warehouse for the columns; no model does that.
-#}
{% test matches_certificate(model, unique_key, changelog=none, inline_errors=none) %}
    {%- do trueup._require_whole_table('matches_certificate') -%}
    {%- do trueup._require_list(
        trueup._argument('matches_certificate', 'unique_key'), unique_key
    ) -%}
    {%- if execute and flags.WHICH in ['compile', 'generate'] -%}
{#- `dbt compile` must work before the first run. -#}
select * from {{ model }}
    {%- elif execute -%}
        {%- set described = trueup._get_columns('select * from ' ~ model) -%}
        {%- set names = described | map(attribute='name') | list -%}
        {%- if '_certificate' in names -%}
            {%- do trueup._require_key_of_test('matches_certificate', unique_key, model) -%}
            {%- set columns = trueup._user_columns(described) -%}
{{ trueup._damaged_batches_select(model, trueup._names_of_columns(unique_key, columns), columns) }}
        {%- else -%}
            {%- if not changelog -%}
                {%- do trueup._raise_error(
                    trueup._argument('matches_certificate', 'changelog'),
                    'the changelog of the collection, such as ref(\'files_changelog\')', changelog
                ) -%}
            {%- endif -%}
            {%- do trueup._require_key_of_test('matches_certificate', unique_key, changelog) -%}
            {%- set columns = trueup._get_user_columns(changelog) -%}
{{ trueup._certificate_differences_select(
    model, changelog, trueup._names_of_columns(unique_key, columns), columns,
    is_state='_kind' in names, inline_errors=inline_errors
) }}
        {%- endif -%}
    {%- endif -%}
{% endtest %}


{#- The key with the names of the changelog. A digest depends on the case of names; Spark does not. -#}
{% macro _names_of_columns(unique_key, columns) -%}
    {%- set spelled = {} -%}
    {%- for column in columns -%}
        {%- do spelled.update({column.name | lower: column.name}) -%}
    {%- endfor -%}
    {%- set names = [] -%}
    {%- for name in unique_key -%}
        {%- if name | lower not in spelled -%}
            {%- do trueup._raise_error(
                trueup._argument('matches_certificate', 'unique_key'),
                'columns of the changelog: ' ~ (spelled.values() | join(', ')), name
            ) -%}
        {%- endif -%}
        {%- do names.append(spelled[name | lower]) -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro %}


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
