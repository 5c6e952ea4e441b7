{#-
    Makes the variable `plan` of the Spark session. It gives the plan of a run to the statements of that
    run.
-#}
{% macro _ensure_plan_variable(name, plan) -%}
    {%- do trueup._ensure_session_variable(
        trueup._session_name(name, 'plan'), trueup._plan_declaration(plan)
    ) -%}
{%- endmacro %}


{#- The type of the variable `plan`, and its value as the default. -#}
{% macro _plan_declaration(plan) -%}
struct<
    seq: bigint, lower: bigint, upper: bigint, open_upper: bigint, tick: bigint, batch_id: string,
    commands_read: bigint, commands_settled: bigint,
    late_dropped: bigint, tombstones: bigint, records_indexed: bigint, minted_at: timestamp,
    partitions: {{ trueup._partitions_type() }}, since: bigint, definition: string,
    settled_definition: string, position: {{ trueup._log_position_type() }},
    whole_log_reason: string, state_verified_by: string, last_batch_id: string, last_seal: bigint
> default named_struct(
    'seq', cast({{ plan.seq }} as bigint),
    'lower', cast({{ plan.lower }} as bigint),
    'upper', cast({{ plan.upper }} as bigint),
    'open_upper', cast({{ plan.open_upper }} as bigint),
    'tick', cast({{ plan.tick }} as bigint),
    'batch_id', '{{ invocation_id }}',
    'commands_read', cast({{ plan.commands_read }} as bigint),
    'commands_settled', cast({{ plan.commands_settled }} as bigint),
    'late_dropped', cast({{ trueup._number_or_null(plan.late_dropped) }} as bigint),
    'tombstones', cast({{ trueup._number_or_null(plan.tombstones) }} as bigint),
    'records_indexed', cast({{ plan.records_indexed }} as bigint),
    'minted_at', {{ trueup._zoned_now_expr() }},
    'partitions', {{ plan.get('partitions') or 'null' }},
    'since', cast({{ trueup._number_or_null(plan.since) }} as bigint),
    'definition', '{{ plan.definition }}',
    'settled_definition', {{ trueup._literal_or_null(plan.settled_definition) }},
    'position', {{ trueup._log_position_expr(plan.position) }},
    'whole_log_reason', {{ trueup._literal_or_null(plan.whole_log_reason) }},
    'state_verified_by', {{ trueup._literal_or_null(plan.state_verified_by) }},
    'last_batch_id', {{ trueup._literal_or_null(plan.last_batch_id) }},
    'last_seal', cast({{ trueup._number_or_null(plan.last_seal) }} as bigint)
)
{%- endmacro %}


{#- The positions as an SQL expression. `position` is a field of the plan. -#}
{% macro _log_position_expr(position) -%}
    {{ return(
        'null' if position is none
        else 'from_json(' ~ trueup._literal(tojson(position)) ~ ", '" ~ trueup._log_position_type() ~ "')"
    ) }}
{%- endmacro %}
