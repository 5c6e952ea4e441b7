{#-
    Ticks for logs that have none: every command that was not seen before gets the tick of the
    batch, which is the lower. What was seen is known by partition: all offsets below its
    `next_offset`, which the progress row keeps.
-#}

{#- A select of the commands with ticks: those seen before are below the lower. -#}
{% macro reclock_commands(commands, changelog, options) -%}
with

last_progress as (

    select
        coalesce(max_by(_upper, _seq), {{ options.as_of }}) as _lower,
        map_from_entries(max_by(
            transform(_statistics.partitions, _each -> struct(_each._partition, _each.next_offset)),
            _seq
        )) as _next_offsets
    from {{ changelog }}
    where _kind = 'progress'

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


{#- CTEs that say how far each partition goes; they end with `reclocked`, one row, in JSON. -#}
{% macro collect_partitions(commands, changelog) -%}
seen_partitions as (

    select inline(max_by(_statistics.partitions, _seq)) from {{ changelog }} where _kind = 'progress'
    union all
    select _partition, max(_offset) + 1 as next_offset from {{ commands }} group by _partition

),

last_offsets as (

    select _partition, max(next_offset) as next_offset
    from seen_partitions
    where _partition is not null
    group by _partition

),

reclocked as (

    select to_json(sort_array(collect_list(struct(_partition, next_offset)))) as partitions
    from last_offsets

)
{%- endmacro %}


{#- The type of `partitions` on the progress row. -#}
{% macro _partitions_type() -%}
    {{ return('array<struct<_partition: string, next_offset: bigint>>') }}
{%- endmacro %}
