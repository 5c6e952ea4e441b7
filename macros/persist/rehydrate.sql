{#-
    The state made anew from the whole changelog: what `--full-refresh` replaces it with, and what a
    state that is missing is made of, in one commit.

    The updates are consolidated: what they leave of a key is one value or none, else the statement
    fails and nothing is written. That is done by the aggregate `trueup_consolidate` of the Python
    module, on rows written as bytes, or natively by GROUP BY, with the same rows. Only the batch that
    `_seq` names may differ: of an eager collection whose open ticks were corrected.
-#}

{#- The select of the rehydrated state; with the option `rehydrate: udaf` it asks for sizes. -#}
{% macro rehydrate_sql(changelog, unique_key) -%}
    {%- set options = trueup._options() -%}
    {%- set columns = trueup.get_shard_columns(changelog) -%}
    {%- set error_key = {'name': '_error_key', 'type': 'string'} -%}
    {%- set keys = columns | selectattr('name', 'in', unique_key) | list + [error_key] -%}
    {%- set values = columns | rejectattr('name', 'in', unique_key) | list -%}
    {%- set values = values + [{'name': '_error', 'type': 'string'}] -%}
    {%- if options.rehydrate == 'udaf' and trueup._has_aggregates() -%}
        {%- set encoded = trueup.encode_updates(keys, values) -%}
        {%- set max_bytes = options.max_group_bytes -%}
        {%- set plan = trueup.get_bucket_plan(changelog, keys, values, max_bytes) -%}
        {%- set consolidated = trueup.consolidate_by_udaf(encoded, keys, values, plan, max_bytes) -%}
    {%- else -%}
        {%- set consolidated = trueup.consolidate_natively(keys, values) -%}
    {%- endif -%}
    {{ return(trueup.rehydrated_state_sql(
        changelog, unique_key, values, consolidated,
        takes_back=run_query(trueup.has_taken_back_sql(changelog)).rows[0][0]
    )) }}
{%- endmacro %}


{#- Whether a batch has ever written updates of open ticks, which others may have taken back. -#}
{% macro has_taken_back_sql(changelog) -%}
select coalesce(max(_statistics.open_upper > _upper), false)
from {{ changelog }}
where _kind = 'progress'
{%- endmacro %}


{#- Whether the session has the aggregates of the Python module. -#}
{% macro _has_aggregates() -%}
    {{ return(run_query("show functions like 'trueup_consolidate'").rows | length > 0) }}
{%- endmacro %}


{#- The state, of the CTEs `consolidated`: one row for each key with a value or a fault. -#}
{% macro rehydrated_state_sql(
    changelog, unique_key, values, consolidated, takes_back=false
) -%}
    {%- set row = trueup._column_list(
        unique_key + values | map(attribute='name') | list + ['_error_key']
    ) -%}
with

history as (

    {% if takes_back -%}
    -- What was written for a tick when it was open, and taken back, is no change at that tick.
    select
        {{ row }},
        _ts,
        'update' as _kind,
        sum(_diff) as _diff,
        max(_seq) as _seq
    from {{ changelog }}
    where _kind = 'update'
    group by {{ row }}, _ts
    having sum(_diff) <> 0
    {%- else -%}
    select * from {{ changelog }}
    {%- endif %}

),

{{ consolidated }}

select
    {% for name in unique_key -%}
    _key.{{ trueup._quote(name) }},
    {% endfor -%}
    _value.*,
    _key._error_key,
    _ts,
    case
        when _fault is not null then raise_error(concat(
            'the updates of a key in {{ changelog }} do not add up: key ',
            to_json(_key, map('ignoreNullFields', 'false')), ': ', _fault,
            '\nNothing is written. Batches are lost, doubled or edited: restore the changelog.'
        ))
        when _value._error is null then 'row'
        else 'error'
    end as _kind,
    _seq,
    cast(null as bigint) as _upper
from consolidated

union all

select
    {% for _ in unique_key + values + ['_error_key', '_ts'] -%}
    null,
    {% endfor -%}
    'progress' as _kind,
    coalesce(max(_seq), 0) as _seq,
    max_by(_upper, _seq) as _upper
from {{ changelog }}
where _kind = 'progress'
-- As a large MERGE leaves them, so that a run can pass over parts of a file.
sort by {{ trueup._quote(unique_key[0]) }}
{%- endmacro %}


{#- The CTE `encoded`: the updates, key and value written as bytes. -#}
{% macro encode_updates(keys, values) -%}
encoded as (

    select
        {{ trueup.row_bytes_expr(keys) }} as _key,
        {{ trueup.row_bytes_expr(values) }} as _value,
        {{ trueup._slot_expr(keys) }} as _slot,
        cast(_diff as bigint) as _diff,
        _seq,
        _ts
    from history
    where _kind = 'update'

)
{%- endmacro %}


{#-
    How the updates are put into buckets of keys: `buckets`, their number, and `is_skewed`, whether
    one of them is larger than a group may be.
-#}
{% macro get_bucket_plan(changelog, keys, values, max_bytes) -%}
    {%- set row = run_query(
        trueup.bucket_plan_sql(changelog, keys, values, max_bytes)
    ).rows[0] -%}
    {{ return({'buckets': row['buckets'] | int, 'is_skewed': row['is_skewed']}) }}
{%- endmacro %}


{#-
    The select behind `get_bucket_plan`, of one row. A bucket is half full on average; there are
    some even for few updates, so that they are worked on in parallel. Nothing is encoded for it:
    what an update may take at most will do.
-#}
{% macro bucket_plan_sql(changelog, keys, values, max_bytes) -%}
with

measured as (

    select
        {{ trueup._slot_expr(keys) }} as slot,
        {{ trueup.max_row_bytes_expr(keys + values) }} + 32 as bytes
    from {{ changelog }}
    where _kind = 'update'

),

slots as (

    select slot, sum(bytes) as bytes from measured group by slot

),

plan as (

    select least(65536, greatest(32, ceil(2 * sum(bytes) / {{ max_bytes }}))) as buckets
    from slots

),

filled as (

    select sum(slots.bytes) as bytes
    from slots
    cross join plan
    group by slots.slot % plan.buckets

)

select
    plan.buckets,
    coalesce((select max(bytes) from filled), 0) > {{ max_bytes }} as is_skewed
from plan
{%- endmacro %}


{#- The hash slot of a key: buckets are made of whole slots. -#}
{% macro _slot_expr(keys) -%}
pmod(xxhash64({{ trueup._hash_terms(keys, '').hashed | join(', ') }}), 65536)
{%- endmacro %}


{#- What an update takes in a group: its bytes, and 32 for two offsets and three numbers. -#}
{% macro _update_bytes_expr() -%}
octet_length(_key) + octet_length(_value) + 32
{%- endmacro %}


{#-
    The CTEs from `encoded` to `consolidated`, by the aggregates of the Python module. A group is a
    bucket of keys; where one is too large, each is cut into chunks whose sums are merged. A chunk
    ends with the update that fills it, and keys are kept together, so that few are in two chunks.
-#}
{% macro consolidate_by_udaf(encoded, keys, values, plan, max_bytes) -%}
{{ encoded }},

bucketed as (

    select
        *,
        _slot % {{ plan.buckets }} as _bucket
    from encoded

),

{% if plan.is_skewed -%}
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


{#- The CTE `consolidated` by GROUP BY alone. -#}
{% macro consolidate_natively(keys, values) -%}
contents as (

    select
        struct({{ trueup._column_list(keys | map(attribute='name')) }}) as _key,
        struct({{ trueup._column_list(values | map(attribute='name')) }}) as _value,
        sum(_diff) as _diff,
        max(_seq) as _seq,
        max(_ts) as _ts
    from history
    where _kind = 'update'
    group by
        struct({{ trueup._column_list(keys | map(attribute='name')) }}),
        struct({{ trueup._column_list(values | map(attribute='name')) }})
    -- A value that is gone has no part in what follows: most of a long history.
    having sum(_diff) <> 0

),

sums as (

    select
        _key,
        max_by(_value, _diff) as _value,
        max(_seq) as _seq,
        max(_ts) as _ts,
        sum(_diff) as diff_sum,
        count(*) as values_left
    from contents
    group by _key

),

consolidated as (

    select
        _key,
        _value,
        _seq,
        _ts,
        case
            when diff_sum not in (0, 1) then concat('non 0/1 diff_sum\nGot: diff_sum ', diff_sum)
            when values_left <> diff_sum then concat(
                'non 0/1 diff_sum of a value\nGot: diff_sum ', diff_sum, ' over ', values_left,
                ' values that do not cancel'
            )
        end as _fault
    from sums

)
{%- endmacro %}
