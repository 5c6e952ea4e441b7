{#- The variable `frontier` of the Spark session: what the staged select has to know of the run. -#}
{% macro _declare_plan_sql(collection, frontier) -%}
declare or replace variable {{ trueup._session_name(collection, 'frontier') }} struct<
    seq: bigint, lower: bigint, upper: bigint, open_upper: bigint, tick: bigint, batch_id: string,
    commands_settled: bigint,
    late_dropped: bigint, records_indexed: bigint, minted_at: timestamp,
    partitions: {{ trueup._partitions_type() }}, since: bigint, definition: string,
    settled_definition: string, last_batch_id: string, last_seal: bigint
> default named_struct(
    'seq', cast({{ frontier.seq }} as bigint),
    'lower', cast({{ frontier.lower }} as bigint),
    'upper', cast({{ frontier.upper }} as bigint),
    'open_upper', cast({{ frontier.open_upper }} as bigint),
    'tick', cast({{ frontier.tick }} as bigint),
    'batch_id', '{{ invocation_id }}',
    'commands_settled', cast({{ frontier.commands_settled }} as bigint),
    'late_dropped', cast({{ trueup._number_or_null(frontier.late_dropped) }} as bigint),
    'records_indexed', cast({{ frontier.records_indexed }} as bigint),
    'minted_at', current_timestamp(),
    'partitions', {{ frontier.get('partitions') or 'null' }},
    'since', cast({{ trueup._number_or_null(frontier.since) }} as bigint),
    'definition', '{{ frontier.definition }}',
    'settled_definition', {{ trueup._literal_or_null(frontier.settled_definition) }},
    'last_batch_id', {{ trueup._literal_or_null(frontier.last_batch_id) }},
    'last_seal', cast({{ trueup._number_or_null(frontier.last_seal) }} as bigint)
)
{%- endmacro %}
