{#-
    The view `history` of the Spark session: all commands of settled ticks as steps, from nothing.
    What they make of a key is what it should be.
-#}
{% macro create_history_view(collection, shard, columns, options) -%}
    {%- set frontier = trueup._session_name(collection, 'frontier') -%}
    {%- set settled = trueup._session_name(collection, 'settled') -%}
    {%- do trueup.create_session_view(settled, trueup.select_input(
        shard.commands, options.as_of, frontier ~ '.lower', shard.unique_key, columns,
        shard.columns, shard.extras, options
    )) -%}
    {%- set values = trueup._value_names(columns, shard.unique_key) -%}
    {%- do trueup.create_steps_view(collection, 'history',
        trueup.select_steps(
            settled, none, none, shard.unique_key, values, shard.extras,
            shard.frontier.has_settled_truncates, options
        ),
        shard, values, options
    ) -%}
{%- endmacro %}


{#- Raises where late commands of a log without ticks would have to be put right. -#}
{% macro _require_no_correction_of_offsets(options) -%}
    {%- if options.late == 'correct' -%}
        {%- do trueup._refuse(
            'Option `late` of ' ~ model.name, 'drop or fail where the log has no ticks (`reclock`)',
            options.late,
            'A command with an offset below what was settled was seen before: leave it out.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
