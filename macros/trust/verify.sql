{#-
    Verification: the store against the certificate on its newest batch row. It scans the whole store, so a run does it only
    if somebody else has written to the store, or if the option `verify` asks for it.
-#}

{#-
    The damage of a store, as a dict: `buckets`, those whose current rows are wrong, and `history`, whether the updates or
    batch rows are wrong. `relation` may be the store at a snapshot.
-#}
{% macro _get_damage(collection, relation, newest) -%}
    {%- set found = run_query(trueup._step_marker('check') ~ trueup._damage_select(collection, relation, newest)).rows[0].dict() -%}
    {{ return({'buckets': fromjson(found.buckets), 'history': not found.is_history_right}) }}
{%- endmacro %}


{#- The select behind `_get_damage`: one row. -#}
{% macro _damage_select(collection, relation, newest) -%}
with

stored as (

    select * from {{ relation }}

),

{{ trueup._store_sums_ctes(collection) }},

newest as (

    select from_json(max_by(_batch, _seq), {{ trueup._literal(trueup._batch_type()) }}) as _last, count(*) as batches
    from stored
    where _kind = 'batch'

),

certified as (

    select inline(_last.certificate) from newest

),

wrong as (

    select coalesce(found.bucket, certified.bucket) as bucket
    from found
    full outer join certified on found.bucket = certified.bucket
    where
        coalesce(found.wrong, 0) > 0
        {%- for sum in trueup._certificate_sums() %}
        or coalesce(found.{{ sum }}, 0) <> coalesce(certified.{{ sum }}, 0)
        {%- endfor %}

)

select
    (select to_json(array_sort(collect_list(bucket))) from wrong) as buckets,
    history.n = coalesce(_last.history.n, 0) and history.low = coalesce(_last.history.low, 0)
        and history.high = coalesce(_last.history.high, 0) and history.mix = coalesce(_last.history.mix, 0)
        and batches = {{ newest.seq + 1 }} as is_history_right
from history
cross join newest
{%- endmacro %}


{#- The sums of a certificate, in the sequence of its type. -#}
{% macro _certificate_sums() -%}
    {{ return(['n', 'length', 'low', 'high', 'mix', 'orders', 'order_low', 'order_high', 'order_mix']) }}
{%- endmacro %}


{#-
    The CTEs up to `found` and `history`: the certificate of the rows that are there, one row a bucket, and the sums of the
    updates, one row. They are computed from what the rows hold, not from what was written about them.

    Reads: `stored`, the rows of a store. Ends with: `history`.
-#}
{% macro _store_sums_ctes(collection) -%}
    {#- In a log with ticks the updates of a batch have ticks of their own. -#}
    {%- set ids = '_seq' if collection.has_ticks else '_seq, _ts' -%}
rows as ( -- each row with the digest of what it holds now

    select
        *,
        {{ trueup._key_bucket_expr(collection) }} as _bucket,
        if(_kind = 'tombstone', null, {{ trueup._row_digest_expr(collection) }}) as _found_digest,
        if(_kind = 'tombstone', null, {{ trueup._row_length_expr(collection) }}) as _found_length
    from stored
    where _kind <> 'batch'

),

marked as (

    select
        *,
        {{ trueup._order_mark_expr(collection, 'struct(_order, _found_digest as _digest, _delete_order, _orders)', is_stored=true) }}
            as _mark
    from rows
    where _kind in ({{ trueup._current_kinds() }})

),

found as (

    select
        _bucket as bucket,
        count(_found_digest) as n,
        coalesce(sum(_found_length), 0) as length,
        sum({{ trueup._half_expr('_found_digest', 'low') }}) as low,
        sum({{ trueup._half_expr('_found_digest', 'high') }}) as high,
        bit_xor(coalesce(_found_digest, 0)) as mix,
        count(_mark) as orders,
        sum({{ trueup._half_expr('_mark', 'low') }}) as order_low,
        sum({{ trueup._half_expr('_mark', 'high') }}) as order_high,
        bit_xor(coalesce(_mark, 0)) as order_mix,
        count_if(not (
            _found_digest <=> _digest and _found_length <=> _length
            and _kind = if(_digest is null, 'tombstone', if(_error_kind is null, 'row', 'error'))
        )) as wrong
    from marked
    group by _bucket

),

history as (

    select
        coalesce(sum(updates), 0) as n,
        coalesce(sum({{ trueup._half_expr('_batch_mark', 'low') }}), 0) as low,
        coalesce(sum({{ trueup._half_expr('_batch_mark', 'high') }}), 0) as high,
        coalesce(bit_xor(_batch_mark), 0) as mix
    from (
        select
            coalesce(updates, 0) as updates,
            xxhash64(_seq, _ts, coalesce(updates, 0), coalesce(low, 0), coalesce(high, 0), coalesce(mix, 0)) as _batch_mark
        from (
            select _seq, _ts from stored
            where _kind = 'batch' and _seq > 0 and get_json_object(_batch, '$.repair') is null
        )
        full outer join (
            select
                {{ ids }}, count(*) as updates,
                sum({{ trueup._half_expr('_mark', 'low') }}) as low,
                sum({{ trueup._half_expr('_mark', 'high') }}) as high,
                bit_xor(_mark) as mix
            from (
                select {{ ids }}, xxhash64(_found_digest, _diff{{ ', _ts' if collection.has_ticks }}) as _mark
                from rows where _kind = 'update'
            )
            group by {{ ids }}
        ) using ({{ ids }})
    )

)
{%- endmacro %}
