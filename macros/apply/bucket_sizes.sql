{#- How many buckets a rebuild needs, so that a Python worker can hold one. -#}

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
