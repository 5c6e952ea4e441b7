{#-
    Where a log with partitions and offsets is not what an append-only log would be, as a view: one
    row per finding. See the YAML beside this file.
-#}
{% macro completeness(collection) -%}
    {{- config(materialized='view') -}}
    {%- do trueup._require_role('completeness', collection) -%}
with

commands as (

    select _partition, _offset, xxhash64(to_json(struct(* except (_ts)))) as _hash
    from {{ ref(collection ~ '_commands') }}

),

offsets as (

    select _partition, _offset, count(distinct _hash) as content_count
    from commands
    group by _partition, _offset

),

neighbours as (

    select
        _partition,
        _offset,
        content_count,
        lead(_offset) over (partition by _partition order by _offset) as next_offset
    from offsets

),

settled as (

    select inline(max_by(_statistics.partitions, _seq)) as (_partition, next_offset)
    from {{ ref(collection ~ '_changelog') }}
    where _kind = 'progress'

),

last_offsets as (

    select _partition, max(_offset) as last_offset from offsets group by _partition

),

findings as (

    select 'gap' as _finding, _partition, _offset + 1 as first_offset, next_offset - 1 as last_offset
    from neighbours
    where next_offset > _offset + 1

    union all

    select 'recreated' as _finding, _partition, min(_offset) as first_offset, max(_offset) as last_offset
    from neighbours
    where content_count > 1
    group by _partition

    union all

    select
        'regression' as _finding,
        settled._partition,
        coalesce(last_offsets.last_offset + 1, 0) as first_offset,
        settled.next_offset - 1 as last_offset
    from settled
    left join last_offsets on settled._partition = last_offsets._partition
    where coalesce(last_offsets.last_offset + 1, 0) < settled.next_offset

)

select * from findings
{%- endmacro %}
