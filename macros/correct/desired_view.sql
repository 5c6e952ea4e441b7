{#-
    The view `desired` of the Spark session: what each key should be, as identity, `_ts` and
    `_value`. Of a collection by a select these are its rows; else it is what all commands of
    settled ticks make of the key, from nothing.
-#}
{% macro _ensure_desired_view(collection, plan, columns) -%}
    {%- do trueup._ensure_session_view(
        trueup._session_name(collection.name, 'desired'),
        trueup._input_select(collection, columns, 0, 1) if collection.is_by_select
            else trueup._ensure_folded_history(collection, plan, columns)
    ) -%}
{%- endmacro %}


{#-
    What the commands of all settled ticks make of each key, as a select. It reads what
    `_ensure_carried_values` makes.

    Of a `partial` log they are folded over what is persisted: where the log does not say what a command
    left unchanged, that is still there.
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


{#- The view `persisted` of the Spark session: what the collection holds, in the same form. -#}
{% macro _ensure_persisted_view(collection, columns) -%}
    {%- do trueup._ensure_session_view(
        trueup._session_name(collection.name, 'persisted'),
        trueup._persisted_select(
            collection, trueup._value_names(columns, collection.unique_key),
            trueup._session_name(collection.name, 'plan') ~ '.lower'
        )
    ) -%}
{%- endmacro %}
