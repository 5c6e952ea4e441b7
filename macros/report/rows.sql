{#- Which rows of a collection are wrong, and why. -#}

{#- The keys of a row, as an array of texts. A long text is cut; Python masks all of them. -#}
{% macro _key_texts_expr(key) -%}
    {%- set texts = [] -%}
    {%- for name in key -%}
        {%- do texts.append(trueup._shown_text_expr('cast(' ~ trueup._quoted(name) ~ ' as string)')) -%}
    {%- endfor -%}
    {{ return('array(' ~ (texts | join(', ')) ~ ')') }}
{%- endmacro %}


{#-
    A text as the page needs it. Python shows at most 200 characters of it (`SHOWN_LENGTH` of the module
    `dbt_trueup.report.mask`), and one more tells it that the text is longer.
-#}
{% macro _shown_text_expr(value) -%}
    {{ return('left(' ~ value ~ ', 201)') }}
{%- endmacro %}


{#- The newest open errors. -#}
{% macro _open_errors_select(tables, limit) -%}
select
    {{ trueup._key_texts_expr(tables.key) }} as key,
    {{ trueup._shown_text_expr('_error_key') }} as error_key,
    {{ trueup._error_kind_expr() }} as kind,
    {{ trueup._shown_text_expr('_error') }} as error,
    _ts as tick,
    _seq as batch
from {{ tables.state }}
where _kind = 'error'
order by _ts desc, _error_key, {{ trueup._column_list(tables.key) }}
limit {{ limit }}
{%- endmacro %}


{#- How many errors of each kind are open. -#}
{% macro _error_kinds_select(state) -%}
select {{ trueup._error_kind_expr() }} as kind, count(*) as open_errors
from {{ state }}
where _kind = 'error'
group by 1
{%- endmacro %}


{#-
    One row: the rows of each bucket by the certificate of the last batch, and the buckets in which the state
    differs from it.
-#}
{% macro _get_certified_buckets_select(tables) -%}
    {{ return(trueup._certified_buckets_select(
        tables, trueup._get_user_columns(tables.changelog)
    )) }}
{%- endmacro %}


{#- The select behind `_get_certified_buckets_select`. -#}
{% macro _certified_buckets_select(tables, columns) -%}
select
    (
        select sort_array(collect_list(struct(bucket, diff_sum)))
        from (
            select inline(max_by(_certificate, _seq))
            from {{ tables.changelog }}
            where _kind = 'progress'
        )
    ) as certified,
    sort_array(collect_list(bucket)) as wrong
from (
    {{ trueup._certificate_differences_select(
        tables.state, tables.changelog, tables.key, columns, is_state=true
    ) }}
)
{%- endmacro %}


{#-
    The rows of the table of corrections: what the last comparison or heal found. Each row also has the number
    of all rows. Changes of a SELECT are no corrections: they have no cause, and are left out.
-#}
{% macro _corrected_rows_select(tables, limit) -%}
select
    {{ trueup._key_texts_expr(tables.key) }} as key,
    {{ trueup._shown_text_expr('_error_key') }} as error_key,
    _cause as cause,
    {{ trueup._difference_expr('_persisted is null', '_desired is null') }} as difference,
    _ts as tick,
    _seq as batch,
    count(*) over () as all_rows
from {{ tables.corrections }}
where _cause is not null
order by _cause, _error_key, {{ trueup._column_list(tables.key) }}
limit {{ limit }}
{%- endmacro %}


{#- How a row differs from the row that should be there. -#}
{% macro _difference_expr(is_missing, is_surplus) -%}
case when {{ is_missing }} then 'missing' when {{ is_surplus }} then 'surplus' else 'other values' end
{%- endmacro %}


{#-
    The rows of the state that its changelog does not have, and the reverse. This compares all rows, so the
    report asks for it only if a bucket of the state differs from the certificate.
-#}
{% macro _get_wrong_rows_select(collection, limit) -%}
    {{ return(trueup._wrong_rows_select(trueup._get_report_tables(collection), limit)) }}
{%- endmacro %}


{#- The select behind `_get_wrong_rows_select`: a row per wrong key. -#}
{% macro _wrong_rows_select(tables, limit) -%}
    {%- set identity = trueup._column_list(tables.key) ~ ', _error_key' -%}
with

differences as (

    {{ trueup.test_consolidates_to_state(tables.changelog, tables.state) | indent }}

)

select
    {{ trueup._key_texts_expr(tables.key) }} as key,
    {{ trueup._shown_text_expr('_error_key') }} as error_key,
    'external_edit' as cause,
    {{ trueup._difference_expr('min(_diff) > 0', 'max(_diff) < 0') }} as difference,
    count(*) over () as all_rows
from differences
group by {{ identity }}
order by {{ identity }}
limit {{ limit }}
{%- endmacro %}
