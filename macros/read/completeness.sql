{#-
    The places where a log with partitions and offsets is not like an append-only log, as a view: one row
    per finding. See the YAML beside this file.
-#}
{% macro completeness(collection) -%}
    {{- config(materialized='view') -}}
    {%- do trueup._require_role('completeness', collection) -%}
{{ trueup._step_marker('create') }}
with

commands as (

    select
        _partition,
        _offset,
        _op = 'delete' as _is_delete,
        _error_key is not null as _is_bad,
        -- The same message may arrive twice, at two times. `_arrived`, if there is one, is the last column.
        regexp_replace(
            {{ trueup._exact_json_expr('struct(* except (_ts))') }}, ',"_arrived":[^,]*}$', '}'
        ) as _content
    from {{ trueup._ref(collection, 'commands') }}

),

contents as (

    select
        _partition,
        _offset,
        count(distinct xxhash64(_content)) as content_count,
        count(distinct case when _is_delete then xxhash64(_content) end) as delete_count,
        -- An upsert moves a row if it names an old key; nulls alone are no key. With a bad new key it cannot name
        -- one: then a delete and an upsert at one offset count as a move.
        max(not _is_delete and (
            _is_bad or coalesce(get_json_object(_content, '$._old_key') rlike ':[^n]', false)
        )) as _is_move
    from commands
    group by _partition, _offset

),

offsets as (

    select
        _partition,
        _offset,
        -- A message of an envelope that moves a row is two commands: a delete of the old key, and an upsert.
        if(
            _is_move, greatest(delete_count, content_count - delete_count), content_count
        ) as content_count
    from contents

),

neighbours as (

    select
        _partition,
        _offset,
        lead(_offset) over (partition by _partition order by _offset) as next_offset
    from offsets

),

batches as (

    select _seq, inline(_statistics.partitions)
    from {{ trueup._ref(collection, 'changelog') }}
    where _kind = 'progress'

),

-- Offsets that a batch skipped: the log did not have them then. It may also have lost older offsets since.
settled as (

    select
        _partition,
        first_offset,
        next_offset,
        lag(next_offset) over (partition by _partition order by _seq) as settled_offset,
        lead(next_offset) over (partition by _partition order by _seq) is null as is_last
    from batches

),

last_offsets as (

    select _partition, max(_offset) as last_offset from offsets group by _partition

),

gaps as (

    select _partition, _offset + 1 as first_offset, next_offset - 1 as last_offset
    from neighbours
    where next_offset > _offset + 1
    union
    select _partition, settled_offset as first_offset, first_offset - 1 as last_offset
    from settled
    where first_offset > settled_offset

),

regressions as (

    select
        settled._partition,
        coalesce(last_offsets.last_offset + 1, 0) as first_offset,
        settled.next_offset - 1 as last_offset
    from settled
    left join last_offsets on settled._partition = last_offsets._partition
    where
        settled.is_last
        and coalesce(last_offsets.last_offset + 1, 0) < settled.next_offset

),

recreations as (

    select _partition, min(_offset) as first_offset, max(_offset) as last_offset
    from offsets
    where content_count > 1
    group by _partition

),

findings as (

    select 'gap' as _finding, * from gaps
    union all
    select 'regression' as _finding, * from regressions
    union all
    select 'recreated' as _finding, * from recreations

)

select * from findings
{%- endmacro %}
