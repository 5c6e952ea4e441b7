{#-
    The view `desired` of the Spark session: what each key should be, as identity, `_ts` and
    `_value`. Of a collection by a select these are its rows; else it is what all commands of
    settled ticks make of the key, from nothing.
-#}
{% macro _ensure_desired_view(collection, shard, columns, options) -%}
    {%- do trueup._ensure_session_view(
        trueup._session_name(collection, 'desired'),
        trueup._input_select(
            shard.commands, 0, 1, shard.unique_key, columns, shard.columns, [], options
        ) if shard.is_by_select else trueup._ensure_folded_history(collection, shard, columns, options)
    ) -%}
{%- endmacro %}


{#-
    What the commands of all settled ticks make of each key, as a select. It reads what `_ensure_carried_values`
    creates.

    Of a `partial` log they are folded over what is persisted: where the log does not say what a command
    left unchanged, that is still there.
-#}
{% macro _ensure_folded_history(collection, shard, columns, options) -%}
    {%- set frontier = trueup._session_name(collection, 'frontier') -%}
    {%- set values = trueup._value_names(columns, shard.unique_key) -%}
    {%- set settled = trueup._input_select(
        shard.commands, trueup._least_tick_expr() if options.as_of is none else options.as_of,
        frontier ~ '.lower', shard.unique_key, columns,
        shard.columns, shard.extras, options
    ) -%}
    {%- set has_truncates = shard.frontier.has_settled_truncates -%}
    {%- set persisted = trueup._session_name(collection, 'persisted') if options.log == 'partial'
        and (has_truncates or '_unchanged' in shard.extras) else none -%}
    {%- set history = trueup._ensure_carried_values(
        collection,
        trueup._steps_select(
            trueup._subquery(settled), persisted, none, shard.unique_key, values, shard.extras,
            has_truncates, options, is_remainder=persisted is not none
        ),
        shard, values, options, persisted=persisted
    ) -%}
    {{ return(trueup._last_values_select(history, shard.unique_key, options)) }}
{%- endmacro %}


{#- The view `persisted` of the Spark session: what the collection holds, in the same form. -#}
{% macro _ensure_persisted_view(collection, shard, values, options) -%}
    {%- set lower = trueup._session_name(collection, 'frontier') ~ '.lower' -%}
    {%- do trueup._ensure_session_view(
        trueup._session_name(collection, 'persisted'),
        trueup._persisted_select(
            shard.state, shard.changelog, shard.unique_key, values, lower, options
        )
    ) -%}
{%- endmacro %}
