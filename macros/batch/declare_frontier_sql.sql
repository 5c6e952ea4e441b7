{#- The variable `frontier` of the Spark session: what the staged select has to know of the run. -#}
{% macro declare_frontier_sql(collection, frontier) -%}
    {%- set late_dropped = frontier.late_dropped -%}
declare or replace variable {{ trueup._session_name(collection, 'frontier') }} struct<
    seq: bigint, lower: bigint, upper: bigint, batch_id: string, commands_settled: bigint,
    late_dropped: bigint, records_indexed: bigint, minted_at: timestamp,
    partitions: {{ trueup._partitions_type() }}
> default named_struct(
    'seq', cast({{ frontier.seq }} as bigint),
    'lower', cast({{ frontier.lower }} as bigint),
    'upper', cast({{ frontier.upper }} as bigint),
    'batch_id', '{{ invocation_id }}',
    'commands_settled', cast({{ frontier.commands_settled }} as bigint),
    'late_dropped', cast({{ 'null' if late_dropped is none else late_dropped }} as bigint),
    'records_indexed', cast({{ frontier.records_indexed }} as bigint),
    'minted_at', current_timestamp(),
    'partitions', from_json(
        {{ trueup._literal(frontier.partitions or 'null') }}, '{{ trueup._partitions_type() }}'
    )
)
{%- endmacro %}
