{#-
    CTEs that compare rows with the certificate of the batch `seq`, bucket by bucket. `rows` is a
    relation with `_digest` and `_diff`. They end with `wrong_buckets`: one row, whose `buckets` is
    the list of those that differ, in JSON.
-#}
{% macro find_wrong_buckets(rows, changelog, seq) -%}
expected as (

    {{ trueup.select_certificate(changelog, seq) | indent }}

),

entries as (

    {{ trueup.certify_rows(rows) | indent }}

),

held as (

    {{ trueup.add_up_certificates('entries') | indent }}

),

wrong as (

    select coalesce(expected.bucket, held.bucket) as bucket
    from expected
    full outer join held on expected.bucket = held.bucket
    where not ({{ trueup._same_sums_expr('expected', 'held') }})

),

wrong_buckets as (

    select to_json(sort_array(collect_list(bucket))) as buckets from wrong

)
{%- endmacro %}
