{#-
    The commands that the log has for the next batch, and the upper of that batch, as a dict: a part of the
    plan. A collection by a SELECT has no log: its upper is that of a comparison. This is a separate query:
    if it contained `_get_progress`, Spark would plan that query again wherever its name appears.

    `part` is the part of the log that the run reads, and `commands` the relation with its commands and ticks.
    If `part` has a `changelog`, the dict also has its last batch now, `last_seq_now`. `part.input_upper` is the
    value of the option if it is known already.
-#}
{% macro _ensure_measured_log(collection, progress, corrections, commands, part) -%}
    {%- set is_reclocked = '_offset' in collection.extras -%}
    {%- if part.get('is_empty') and not is_reclocked and not collection.options.input_upper -%}
        {{ return(trueup._measured_empty_part(progress, part)) }}
    {%- endif -%}
    {%- set measured_log = trueup._measured_log_select(
        none if collection.is_by_select else commands, progress,
        trueup._session_name(collection.name, 'settled') if is_reclocked else none,
        collection.options,
        trueup._get_upper_expr(collection, corrections) if collection.is_by_select else part.get('input_upper'),
        part
    ) -%}
    {{ return(
        trueup._ensure_measured_partitions(collection.name, measured_log) if is_reclocked
        else run_query(measured_log).rows[0].dict()
    ) }}
{%- endmacro %}


{#-
    The row of `_measured_log_select` for a part without commands, if only the log decides the upper. No statement looks
    for the last batch of the changelog: such a run writes nothing, or its append finds that another run was first.
-#}
{% macro _measured_empty_part(progress, part) -%}
    {%- set before = progress.settled_before -%}
    {%- set is_counted = before is not none and part.commands_before >= before -%}
    {{ return({
        'lower': progress.lower, 'last_tick': none, 'upper': progress.lower, 'commands_ahead': 0,
        'commands_to_settle': 0, 'log_upper': progress.lower, 'open_upper': progress.lower,
        'commands_read': 0, 'null_ticks': 0, 'commands_settled': part.commands_before,
        'late_dropped': part.commands_before - before if is_counted else none,
        'has_truncates': false, 'has_settled_truncates': false, 'last_seq_now': progress.last_seq
    }) }}
{%- endmacro %}
