{#-
    The CTEs from `encoded` to `consolidated`, by the aggregates of the Python module. A group is a bucket
    of keys. If a bucket is too large, all buckets are cut into chunks, and the sums of the chunks are
    merged. A chunk ends with the update that fills it. The updates of a key stay together, so few keys are
    in two chunks.

    Reads: `encoded`. Ends with: `consolidated`.
-#}
{% macro _consolidated_by_udaf_ctes(encoded, keys, values, sizes, max_bytes) -%}
{{ encoded }},

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
    How the updates are divided into buckets of keys. A dict: `buckets`, the number of buckets, and
    `is_skewed`, whether one of them is larger than a group may be.
-#}
{% macro _get_bucket_sizes(changelog, keys, values, max_bytes) -%}
    {%- set row = run_query(
        trueup._bucket_sizes_select(changelog, keys, values, max_bytes)
    ).rows[0] -%}
    {{ return({'buckets': row['buckets'] | int, 'is_skewed': row['is_skewed']}) }}
{%- endmacro %}


{#-
    The select behind `_get_bucket_sizes`: one row. A bucket is half full on average. Even few updates get
    several buckets, so that Spark works on them in parallel. The select does not encode any update: it uses
    the greatest size that an update can have.
-#}
{% macro _bucket_sizes_select(changelog, keys, values, max_bytes) -%}
with

measured as (

    select
        {{ trueup._slot_expr(keys, alias='updates') }} as slot,
        {{ trueup._max_row_bytes_expr(keys + values, alias='updates') }} + {{ trueup._update_overhead() }} as bytes
    from {{ changelog }} as updates
    where {{ trueup._is_content_expr() }}

),

slots as (

    select slot, sum(bytes) as bytes from measured group by slot

),

sizes as (

    select
        least({{ trueup._slot_count() }}, greatest(32, ceil(2 * sum(bytes) / {{ max_bytes }}))) as buckets
    from slots

),

filled as (

    select sum(slots.bytes) as bytes
    from slots
    cross join sizes
    group by slots.slot % sizes.buckets

)

select
    sizes.buckets,
    coalesce((select max(bytes) from filled), 0) > {{ max_bytes }} as is_skewed
from sizes
{%- endmacro %}


{#- The hash slot of a key, whose columns belong to `alias`: buckets are made of whole slots. -#}
{% macro _slot_expr(keys, alias) -%}
pmod(xxhash64({{ trueup._hash_terms(keys, alias ~ '.').hashed | join(', ') }}), {{ trueup._slot_count() }})
{%- endmacro %}


{#- The number of hash slots of keys. There are never more buckets than slots. -#}
{% macro _slot_count() -%}
    {{ return(65536) }}
{%- endmacro %}


{#- The size of an update in a group: the bytes of its key and of its value, and what each update adds. -#}
{% macro _update_bytes_expr() -%}
octet_length(_key) + octet_length(_value) + {{ trueup._update_overhead() }}
{%- endmacro %}


{#- The bytes that each update adds in a group, beside its key and its value: two offsets and three numbers. -#}
{% macro _update_overhead() -%}
    {{ return(32) }}
{%- endmacro %}
