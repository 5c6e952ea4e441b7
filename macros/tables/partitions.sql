{#-
    The type of `partitions` on the progress row. `first_offset` is the first offset that the batch took,
    null if it took none. All offsets below `next_offset` are settled.
-#}
{% macro _partitions_type() -%}
    {{ return('array<struct<_partition: string, first_offset: bigint, next_offset: bigint>>') }}
{%- endmacro %}


{#- The content of `partitions`, as a map from each partition to its next offset. -#}
{% macro _next_offsets_expr(partitions) -%}
    {{ return(
        'map_from_entries(transform(' ~ partitions
        ~ ', each -> struct(each._partition, each.next_offset)))'
    ) }}
{%- endmacro %}
