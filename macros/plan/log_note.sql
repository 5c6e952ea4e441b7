{#-
    What the log has lost, or never gave, for dbt's line of the batch: a run that says nothing of it
    would look like one that is up to date. With the option `late: fail` a loss stops the run.
-#}

{#- The note of a run, one line; none where there is nothing to say. -#}
{% macro _get_log_note(collection, shard, options) -%}
    {%- set frontier = shard.frontier -%}
    {%- if frontier.last_seq == 0 and frontier.commands_settled > 0 -%}
        {{ return(
            frontier.commands_settled ~ ' commands below the option `as_of` (' ~ frontier.lower
            ~ ') are left out'
        ) }}
    {%- endif -%}
    {%- set lost_tick = trueup._get_lost_tick(shard, options) -%}
    {%- if lost_tick is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set next_step = 'If the log was made anew, give its commands ticks from ' ~ frontier.lower
        ~ ' on, or start again from it: ' ~ trueup._rebase_command(collection)
        ~ ' If it loses its newest commands on purpose, set the option `log: partial`.' -%}
    {%- if options.late == 'fail' -%}
        {%- do trueup._raise_error(
            'With option `late: fail` the log ' ~ shard.commands,
            'one that still has the ticks that were settled, up to ' ~ lost_tick,
            'a log that ends below the frontier: its greatest tick is ' ~ frontier.last_tick
            ~ ', the frontier is ' ~ frontier.lower,
            'Nothing is staged. ' ~ next_step
        ) -%}
    {%- endif -%}
    {{ return(
        'the log ends below the frontier: its greatest tick is ' ~ frontier.last_tick
        ~ ', but ticks up to ' ~ lost_tick ~ ' were settled and the frontier is ' ~ frontier.lower
        ~ '; what comes below it is late. ' ~ next_step
    ) }}
{%- endmacro %}


{#-
    The greatest settled tick that the log had commands of, if it now ends before it; else none. The
    changelog is the witness: the frontier may be past the log for good reasons (`input_upper`). No
    witness is heard where the log may lose what it likes (`log: partial`), where it has no command at
    all, as after a retention, and where corrections follow whatever the log says now.
-#}
{% macro _get_lost_tick(shard, options) -%}
    {%- set frontier = shard.frontier -%}
    {%- if options.log == 'partial' or options.late == 'correct' or frontier.last_tick is none
            or frontier.last_tick + 1 >= frontier.lower -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(run_query(trueup._lost_tick_select(shard.changelog, frontier)).rows[0][0]) }}
{%- endmacro %}


{% macro _lost_tick_select(changelog, frontier) -%}
select max(_ts)
from {{ changelog }}
where
    _kind = 'update'
    and _cause is null
    and _ts > {{ frontier.last_tick }}
    and _ts < {{ frontier.lower }}
{%- endmacro %}


{#- What dbt says of a run that has nothing to write. -#}
{% macro _idle_message(frontier, note) -%}
    {%- set is_up_to_date = note is none or frontier.last_seq == 0 -%}
    {{ return(
        [('up to date at ' ~ frontier.lower) if is_up_to_date, note] | select | join('; ')
    ) }}
{%- endmacro %}
