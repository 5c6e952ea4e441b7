{#- Notes about the log and its commands, for dbt's line of the batch. -#}

{#-
    A note about commands that the log has lost or never had, one line; none if there is nothing to report. Without
    the note such a run would look up to date. With the option `late: fail` a loss stops the run.
-#}
{% macro _get_log_note(collection, plan) -%}
    {%- if plan.last_seq == 0 and plan.commands_settled > 0 -%}
        {{ return(
            plan.commands_settled ~ ' commands below the option `as_of` (' ~ plan.lower
            ~ ') are left out'
        ) }}
    {%- endif -%}
    {%- set lost_tick = trueup._get_lost_tick(collection, plan) -%}
    {%- if lost_tick is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set next_step = 'If the log was recreated, give its commands ticks from ' ~ plan.lower
        ~ ' on, or start again from it: ' ~ trueup._rebase_command(collection.name)
        ~ ' If it loses its newest commands on purpose, set the option `log: partial`.' -%}
    {%- if collection.options.late == 'fail' -%}
        {%- do trueup._raise_error(
            'With option `late: fail` the log ' ~ collection.source,
            'one that still has the ticks that were settled, up to ' ~ lost_tick,
            'a log that ends below the frontier: its greatest tick is ' ~ plan.last_tick
            ~ ', the frontier is ' ~ plan.lower,
            'Nothing is staged. ' ~ next_step
        ) -%}
    {%- endif -%}
    {{ return(
        'the log ends below the frontier: its greatest tick is ' ~ plan.last_tick
        ~ ', but ticks up to ' ~ lost_tick ~ ' were settled and the frontier is ' ~ plan.lower
        ~ '; what comes below it is late. ' ~ next_step
    ) }}
{%- endmacro %}


{#-
    A note about late commands without an effect, for dbt's line of the batch; none if there is none. In a log
    without ticks such a command is a redelivery: it had its effect before.
-#}
{% macro _late_note(collection, plan) -%}
    {%- set drops_late = collection.options.late == 'drop' and '_offset' not in collection.extras -%}
    {%- set late = plan.late_dropped if drops_late else none -%}
    {{ return(
        late ~ (' late command has' if late == 1 else ' late commands have')
        ~ ' no effect (option `late: drop`)' if late else none
    ) }}
{%- endmacro %}


{#-
    The commands that a batch settles, as a part of the message, such as `commands 11 to 20 of 50`: of 50
    commands that are settled or could be, 10 were settled before. None if the option `max_commands_per_batch`
    is not set, because then every batch settles all that it may. Also none if there is no command to settle.
-#}
{% macro _commands_note(plan) -%}
    {%- set before, ahead = plan.commands_settled, plan.get('commands_to_settle') -%}
    {%- if not ahead -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(
        'commands ' ~ (before + 1) ~ ' to ' ~ (before + [plan.commands_ahead, ahead] | min)
        ~ ' of ' ~ (before + ahead)
    ) }}
{%- endmacro %}


{#-
    The greatest settled tick for which the log once had commands, if the log now ends before it; else none.
    The changelog tells which tick that is. The frontier does not: it may be ahead of the log for good
    reasons (`input_upper`).

    The check is skipped in four cases: the run reads only what was appended to the log; the log may lose
    commands (`log: partial`); the log has no commands at all, for example after a retention; corrections
    make the collection follow the log anyway.
-#}
{% macro _get_lost_tick(collection, plan) -%}
    {%- set options = collection.options -%}
    {%- if plan.whole_log_reason is none or options.log == 'partial' or options.late == 'correct'
            or plan.last_tick is none
            or plan.last_tick + 1 >= plan.lower -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(run_query(trueup._lost_tick_select(collection.changelog, plan)).rows[0][0]) }}
{%- endmacro %}


{#- The select behind `_get_lost_tick`: one row. -#}
{% macro _lost_tick_select(changelog, plan) -%}
select max(_ts)
from {{ changelog }}
where
    _kind = 'update'
    and _cause is null
    {%- if plan.last_tick is not none %}
    and _ts > {{ plan.last_tick }}
    {%- endif %}
    and _ts < {{ plan.lower }}
{%- endmacro %}
