{#-
    CTEs of the certificate after the batch. It is the certificate of the batch before, plus the
    updates. `certificate` is one row. It also has the mark of all updates.

    Reads: `updates`, the changelog. Ends with: `certificate`.
-#}
{% macro _certificate_after_ctes(changelog, last_seq) -%}
    {%- set fields = trueup._certificate_fields() -%}
certificate_entries as (

    select 0L as _digest_mark, *
    from (
        {{ trueup._stored_certificate_select(changelog, last_seq) | indent(8) }}
    ) as certified_before
    union all
    {{ trueup._certificate_entries_select(
        'updates', also=trueup._update_mark_expr() ~ ' as _digest_mark'
    ) | indent }}

),

certified_buckets as (

    select
        bucket,
        {{ trueup._certificate_aggregate_list() | indent }},
        bit_xor(_digest_mark) as _digest_mark
    from certificate_entries
    group by bucket

),

certificate as (

    select
        sort_array(collect_list(struct(bucket, {{ fields | join(', ') }})) filter (
            where {{ trueup._is_nonzero_expr(fields) }}
        )) as _certificate,
        coalesce(bit_xor(_digest_mark), 0) as _digest_marks
    from certified_buckets

)
{%- endmacro %}
