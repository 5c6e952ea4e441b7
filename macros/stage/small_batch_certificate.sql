{#-
    CTEs that add up the certificate of a small batch: each row gets all of it, and the marks of all updates.

    Reads: `entries`. Ends with: `certified`.
-#}
{% macro _certified_entries_ctes() -%}
certified_entries as (

    select
        * except (_certificate_entry),
        coalesce(_certificate_entry, named_struct(
            'bucket', _digest.bucket
            {%- for name, term in trueup._certificate_terms().items() %},
            {{ trueup._literal(name) }}, {{ term }}
            {%- endfor %}
        )) as _certificate_entry,
        case when _kind = 'update' then {{ trueup._update_mark_expr() }} end as _digest_mark
    from entries

),

certified_buckets as (

    select
        * except (_certificate_entry),
        named_struct(
            'bucket', _certificate_entry.bucket
            {%- for name, aggregate in trueup._certificate_aggregates('_certificate_entry').items() %},
            {{ trueup._literal(name) }}, {{ aggregate }} over of_bucket
            {%- endfor %}
        ) as _certificate_entry
    from certified_entries
    window of_bucket as (partition by _certificate_entry.bucket)

),

-- All rows of a bucket have the same sums.
certified as (

    select
        * except (_certificate_entry),
        sort_array(collect_set(case
            when
                _certificate_entry.bucket is not null
                and ({{ trueup._is_nonzero_expr(trueup._certificate_fields('_certificate_entry')) }})
                then _certificate_entry
        end) over ()) as _certificate,
        coalesce(bit_xor(_digest_mark) over (), 0) as _digest_marks
    from certified_buckets

)
{%- endmacro %}
