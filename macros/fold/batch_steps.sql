{#-
    All steps of the keys of a batch, as a select: the persisted rows, the pending corrections, and
    the commands of its ticks. The select reads the tables that `_ensure_carried_values` makes.
-#}
{% macro _ensure_batch_steps(collection, plan, columns, takes_corrections) -%}
    {%- set planned = trueup._session_name(collection.name, 'plan') -%}
    {%- set values = trueup._value_names(columns, collection.unique_key) -%}
    {%- set input = none if collection.is_by_select or plan.get('adopts') else trueup._input_select(
        collection, columns,
        'least(' ~ trueup._first_tick_expr(collection.options) ~ ', ' ~ planned ~ '.lower)' if plan.takes_late
            else planned ~ '.lower',
        planned ~ '.open_upper',
        partitions=planned ~ '.partitions' if '_offset' in collection.extras,
        may_truncate=plan.has_truncates
    ) -%}
    {%- if plan.get('takes_last_commands') -%}
        {{ return(trueup._last_commands_select(
            collection, input, trueup._get_has_few_keys(collection, input, plan)
        )) }}
    {%- endif -%}
    {%- if takes_corrections and plan.correction_count -%}
        {%- do trueup._require_columns_of_corrections(collection, columns) -%}
    {%- endif -%}
    {%- set persisted = trueup._planned_persisted_select(collection, columns, plan) -%}
    {#- The table may be older than a rebase and have other columns. Then it has no corrections for this batch. -#}
    {%- set waiting = trueup._pending_corrections_select(collection, columns)
        if takes_corrections and (input is none or plan.correction_count) else none -%}
    {%- set reading = {
        'broadcasts': trueup._can_broadcast_keys(trueup._folded_count(plan)),
        'reads_once': input is not none and not plan.is_log_pinned,
        'key_range': trueup._get_batch_range(collection, plan, columns, input, waiting),
        'lower': planned ~ '.lower',
        'tombstones_end': trueup._tombstones_end(collection.options, plan),
        'is_log_decisive': plan.begins_orders and plan.whole_log_reason is not none
            and collection.options.log == 'complete',
    } -%}
    {%- set steps = trueup._steps_select(
        collection, trueup._subquery(input) if input else none, trueup._subquery(persisted), values,
        plan.has_truncates, trueup._subquery(waiting) if waiting else none, reading
    ) -%}
    {{ return(trueup._ensure_carried_values(collection, steps, values)) }}
{%- endmacro %}
