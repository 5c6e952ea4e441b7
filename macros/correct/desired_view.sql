{#-
    The view `desired` of the Spark session: the value that each key should have, as identity, `_ts` and
    `_value`. In a collection by a select these are the rows of the select. In a collection by commands all
    commands of settled ticks are folded, from nothing.
-#}
{% macro _ensure_desired_view(collection, plan, columns) -%}
    {%- do trueup._ensure_session_view(
        trueup._session_name(collection.name, 'desired'),
        trueup._input_select(collection, columns, 0, 1) if collection.is_by_select
            else trueup._ensure_folded_history(collection, plan, columns)
    ) -%}
{%- endmacro %}


{#-
    The result of the commands of all settled ticks for each key, as a select. It reads the objects that
    `_ensure_carried_values` makes.

    The commands of a `partial` log are folded over the persisted rows. If a command leaves a column
    unchanged and the log has no older value, the persisted value stays.
-#}
{% macro _ensure_folded_history(collection, plan, columns) -%}
    {%- set options = collection.options -%}
    {%- set values = trueup._value_names(columns, collection.unique_key) -%}
    {%- set settled = trueup._input_select(
        collection, columns, trueup._least_tick_expr() if options.as_of is none else options.as_of,
        trueup._session_name(collection.name, 'plan') ~ '.lower'
    ) -%}
    {%- set has_truncates = plan.has_settled_truncates -%}
    {%- set persisted = trueup._session_name(collection.name, 'persisted') if options.log == 'partial'
        and (has_truncates or '_unchanged' in collection.extras) else none -%}
    {%- set steps = trueup._steps_select(
        collection, trueup._subquery(settled), persisted, values, has_truncates,
        prior={'is_remainder': persisted is not none}
    ) -%}
    {{ return(trueup._last_values_select(
        collection, trueup._ensure_carried_values(collection, steps, values, persisted)
    )) }}
{%- endmacro %}


{#- The view `persisted` of the Spark session: the rows of the collection, in the same form. -#}
{% macro _ensure_persisted_view(collection, columns) -%}
    {%- do trueup._ensure_session_view(
        trueup._session_name(collection.name, 'persisted'),
        trueup._persisted_select(
            collection, trueup._value_names(columns, collection.unique_key),
            trueup._session_name(collection.name, 'plan') ~ '.lower'
        )
    ) -%}
{%- endmacro %}
