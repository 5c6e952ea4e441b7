{#- What the doctor checks of the log, as a list of checks. -#}

{#-
    Whether the log still reaches the ticks that were settled. There is no such check for a log that may lose
    commands, for a log without ticks, and for a collection by a SELECT.
-#}
{% macro _get_log_checks(tables) -%}
    {%- if not tables.source or tables.options.get('log') == 'partial'
            or tables.options.get('late') == 'correct' -%}
        {#- Such a log may lose commands, or corrections make the collection follow it anyway. -#}
        {{ return([]) }}
    {%- endif -%}
    {%- set last = tables.last -%}
    {%- if last.seq == 0 or last.is_reclocked -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set last_tick = run_query('select max(_ts) from ' ~ tables.source).rows[0][0] -%}
    {%- set lost_tick = none if last_tick is not none and last_tick + 1 >= last.upper else run_query(
        trueup._lost_tick_select(tables.changelog, {'last_tick': last_tick, 'lower': last.upper})
    ).rows[0][0] -%}
    {%- if lost_tick is not none and last_tick is none -%}
        {#- A run goes on: a log may be empty after a retention. But nobody should say that it still has the ticks. -#}
        {{ return([trueup._check_result(
            'the log is empty, but ticks up to ' ~ lost_tick ~ ' were settled',
            'if it should not be empty, restore it, or give its new commands ticks from ' ~ last.upper
            ~ ' on. If it loses old commands on purpose, set the option `log` to partial.'
        )]) }}
    {%- elif lost_tick is not none -%}
        {{ return([trueup._check_result(
            'the log was recreated or has lost commands: it ends at tick ' ~ last_tick ~ ', but ticks up to '
            ~ lost_tick ~ ' were settled',
            'give its commands ticks from ' ~ last.upper ~ ' on, or start again from it: '
            ~ trueup._rebase_command(tables.name, tables.source_role)
        )]) }}
    {%- endif -%}
    {{ return([trueup._check_result('the log still reaches the ticks that were settled')]) }}
{%- endmacro %}
