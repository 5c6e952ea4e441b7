{#-
    The CTEs from `history` to `consolidated`, by the aggregates of the Python module. A group is a bucket
    of keys. If a bucket is too large, all buckets are cut into chunks, and the sums of the chunks are
    merged. A chunk ends with the update that fills it. The updates of a key stay together, so few keys are
    in two chunks.

    Reads: `history`. Ends with: `consolidated`.
-#}
{% macro _consolidated_by_udaf_ctes(keys, values, sizes, max_bytes) -%}
{{ trueup._encoded_updates_ctes(keys, values) }},

bucketed as (

    select
        *,
        _slot % {{ sizes.buckets }} as _bucket
    from encoded

),

{% if sizes.is_skewed -%}
chunked as (

    select
        *,
        sum({{ trueup._update_bytes_expr() }}) over (
            partition by _bucket
            order by _key
            rows between unbounded preceding and current row
        ) div {{ max_bytes }} as _chunk
    from bucketed

),

accumulated as (

    select
        _bucket,
        trueup_accumulate(_key, _value, _diff, _seq, _ts) as _sums
    from chunked
    group by _bucket, _chunk

),

parts as (

    select
        _bucket,
        inline(arrays_zip(
            _sums.key, _sums.diff_sum, _sums.len_sum, _sums.checksum_sum, _sums.value_xor,
            _sums.seq, _sums.ts
        ))
    from accumulated

),

merged as (

    select trueup_merge(key, diff_sum, len_sum, checksum_sum, value_xor, seq, ts) as _live
    from parts
    group by _bucket

),
{%- else -%}
merged as (

    select trueup_consolidate(_key, _value, _diff, _seq, _ts) as _live
    from bucketed
    group by _bucket

),
{%- endif %}

live as (

    select inline(arrays_zip(_live.key, _live.value, _live.seq, _live.ts, _live.fault))
    from merged

),

consolidated as (

    select
        {{ trueup.row_from_bytes_expr('key', keys) }} as _key,
        {{ trueup.row_from_bytes_expr('value', values) }} as _value,
        seq as _seq,
        ts as _ts,
        fault as _fault
    from live

)
{%- endmacro %}


{#-
    The CTE `encoded`: the updates, with key and value written as bytes.

    Reads: `history`. Ends with: `encoded`.
-#}
{% macro _encoded_updates_ctes(keys, values) -%}
encoded as (

    select
        {{ trueup.row_bytes_expr(keys, alias='history') }} as _key,
        {{ trueup.row_bytes_expr(values, alias='history') }} as _value,
        {{ trueup._slot_expr(keys, alias='history') }} as _slot,
        cast(_diff as bigint) as _diff,
        _seq,
        _ts
    from history
    where {{ trueup._is_content_expr() }}

)
{%- endmacro %}
