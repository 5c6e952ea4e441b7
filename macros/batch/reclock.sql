{#-
    Ticks for logs that have none: every command that was not seen before gets the tick of the
    batch, which is the lower. What was seen is known by partition: all offsets below its
    `next_offset`, which the progress row keeps.
-#}

{#- A select of the commands with ticks: those seen before are below the lower of `progress`. -#}
{% macro reclock_commands(commands, progress) -%}
with

last_progress as (

    select
        cast({{ progress.lower }} as bigint) as _lower,
        {{ trueup._next_offsets_expr(trueup._partitions_expr(progress)) }} as _next_offsets

)

select
    commands.* except (_ts),
    case
        when _partition is null or _offset is null then null
        when _offset < try_element_at(_next_offsets, _partition) then _lower - 1
        else _lower
    end as _ts
from {{ commands }} as commands
cross join last_progress
{%- endmacro %}


{#-
    CTEs that say how far each partition goes; they end with `reclocked`, one row, in JSON.
    `progress` has what the last batch has settled, in JSON, too.
-#}
{% macro collect_partitions(commands, progress) -%}
settled_partitions as (

    select inline({{ trueup._partitions_expr(progress) }})

),

log_partitions as (

    select
        _partition,
        min(_offset) filter (where _ts >= {{ progress.lower }}) as first_offset,
        max(_offset) + 1 as next_offset
    from {{ commands }}
    where _ts is not null
    group by _partition
    union all
    select _partition, null as first_offset, next_offset from settled_partitions

),

last_offsets as (

    select
        _partition,
        min(first_offset) as first_offset,
        max(next_offset) as next_offset
    from log_partitions
    group by _partition

),

reclocked as (

    select to_json(
        sort_array(collect_list(struct(_partition, first_offset, next_offset)))
    ) as partitions
    from last_offsets

)
{%- endmacro %}


{#-
    The type of `partitions` on the progress row. `first_offset` is the first that the batch took,
    null where it took none; all offsets below `next_offset` are settled.
-#}
{% macro _partitions_type() -%}
    {{ return('array<struct<_partition: string, first_offset: bigint, next_offset: bigint>>') }}
{%- endmacro %}


{#- What `partitions` says, as a map of each partition to its next offset. -#}
{% macro _next_offsets_expr(partitions) -%}
    {{ return(
        'map_from_entries(transform(' ~ partitions
        ~ ', each -> struct(each._partition, each.next_offset)))'
    ) }}
{%- endmacro %}


{#- How far the last batch goes in each partition, as an SQL expression; null before the first. -#}
{% macro _partitions_expr(progress) -%}
    {{ return(
        'from_json(' ~ trueup._literal(progress.settled_partitions or 'null') ~ ", '"
        ~ trueup._partitions_type() ~ "')"
    ) }}
{%- endmacro %}
