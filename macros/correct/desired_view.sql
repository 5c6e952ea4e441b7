{#-
    The view `desired` of the Spark session: the value that each key should have, as identity, `_ts` and
    `_value`. In a collection by a select these are the rows of the select. In a collection by commands all
    commands of settled ticks are folded, from nothing. With the `extent` `late` only those of the late keys.
-#}
{% macro _ensure_desired_view(collection, plan, columns, extent) -%}
    {%- do trueup._ensure_session_view(
        trueup._session_name(collection.name, 'desired'),
        trueup._input_select(collection, columns, 0, 1) if collection.is_by_select
            else trueup._ensure_folded_history(collection, plan, columns, extent)
    ) -%}
{%- endmacro %}


{#-
    The result of the commands of all settled ticks for each key, as a select. It reads the objects that
    `_ensure_carried_values` makes.

    The commands of a `partial` log are folded over the persisted rows. If a command leaves a column
    unchanged and the log has no older value, the persisted value stays.
-#}
{% macro _ensure_folded_history(collection, plan, columns, extent) -%}
    {%- set options = collection.options -%}
    {%- set values = trueup._value_names(columns, collection.unique_key) -%}
    {%- set settled = trueup._input_select(
        collection, columns, trueup._first_tick_expr(options),
        trueup._session_name(collection.name, 'plan') ~ '.lower'
    ) -%}
    {%- if extent == 'late' -%}
        {%- set settled = trueup._rows_of_late_keys_select(collection, trueup._subquery(settled)) -%}
    {%- endif -%}
    {%- set has_truncates = trueup._get_has_settled_truncates(collection, plan) -%}
    {%- set persisted = trueup._session_name(collection.name, 'persisted') if options.log == 'partial'
        and (has_truncates or '_unchanged' in collection.extras) else none -%}
    {%- set steps = trueup._steps_select(
        collection, trueup._subquery(settled), persisted, values, has_truncates,
        reading={'is_remainder': persisted is not none, 'reads_once': persisted is not none}
    ) -%}
    {{ return(trueup._last_values_select(
        collection, trueup._ensure_carried_values(collection, steps, values, persisted)
    )) }}
{%- endmacro %}


{#- Whether the log has a truncate below the lower. The plan knows it only of the part that the run reads. -#}
{% macro _get_has_settled_truncates(collection, plan) -%}
    {%- if plan.has_settled_truncates or plan.whole_log_reason is not none -%}
        {{ return(plan.has_settled_truncates) }}
    {%- endif -%}
    {%- set query -%}
select 1 from {{ collection.source }} where _op = 'truncate' and _ts < {{ plan.lower }} limit 1
    {%- endset -%}
    {{ return(run_query(query).rows | length > 0) }}
{%- endmacro %}


{#- The view `persisted` of the Spark session: the rows of the collection, in the same form. -#}
{% macro _ensure_persisted_view(collection, plan, columns) -%}
    {%- do trueup._ensure_session_view(
        trueup._session_name(collection.name, 'persisted'),
        trueup._planned_persisted_select(collection, columns, plan)
    ) -%}
{%- endmacro %}
