{#-
    CTEs that compare rows with the certificate of the batch `seq`, bucket by bucket. `rows` is a
    relation with `_digest` and `_diff`. `wrong_buckets` is one row. Its column `buckets` lists the
    buckets that differ, in JSON. Its column `surplus` counts the rows above the certified number.

    Certificates are linear. So the rows minus the certificate leave nothing if all buckets are
    right.

    Reads: the relation `rows`, the changelog. Ends with: `wrong_buckets`.
-#}
{% macro _wrong_buckets_ctes(rows, changelog, seq) -%}
certified as (

    {{ trueup._stored_certificate_select(changelog, seq) | indent }}

),

entries as (

    {{ trueup._certificate_entries_select(rows) | indent }}
    union all
    select
        bucket,
        {% for name in trueup._certificate_sums() -%}
        -{{ name }} as {{ name }},
        {% endfor -%}
        value_xor
    from certified

),

wrong as (

    {{ trueup._summed_certificate_select() | indent }}

),

wrong_buckets as (

    select
        to_json(sort_array(collect_list(bucket))) as buckets,
        coalesce(sum(diff_sum), 0) as surplus
    from wrong

)
{%- endmacro %}
