{#- A run that has nothing to write, and what dbt's line of the batch says of it. -#}

{#-
    Whether there is nothing to do: no tick to settle, no correction, nothing in open ticks, and no late
    command that may win (`late: newest`).
-#}
{% macro _is_idle(plan) -%}
    {{ return(
        plan.upper == plan.lower
        and plan.correction_count == 0
        and plan.open_upper == plan.lower
        and not plan.has_provisional
        and not (plan.takes_late and plan.late_dropped != 0)
    ) }}
{%- endmacro %}


{#- The message of a run that has nothing to write. It says how many commands wait, and why. -#}
{% macro _idle_message(plan, options, note) -%}
    {%- set is_up_to_date = trueup._idle_code(plan, note) == 'NOOP' -%}
    {%- set cause, waiting = trueup._cause_of_waiting(plan, options), plan.commands_ahead -%}
    {{ return([
        ('up to date at ' ~ plan.lower) if is_up_to_date,
        (waiting ~ (' command waits' if waiting == 1 else ' commands wait') ~ ' in open ticks (' ~ cause ~ ')')
            if cause,
        note
    ] | select | join('; ')) }}
{%- endmacro %}


{#- What a run that stages a batch says of the commands that wait; none if none waits. Nobody has counted them. -#}
{% macro _waiting_note(plan, options) -%}
    {%- set cause = trueup._cause_of_waiting(plan, options) -%}
    {{ return('commands from tick ' ~ plan.upper ~ ' on wait (' ~ cause ~ ')' if cause else none) }}
{%- endmacro %}


{#-
    Why commands wait at or past the upper of the plan; none if none waits. The option `input_upper` or the var
    `trueup_until` keeps their ticks open. With `eager` they do not wait: their rows are provisional. If the option
    `max_commands_per_batch` cuts the batch, another line says so (`_commands_note`).
-#}
{% macro _cause_of_waiting(plan, options) -%}
    {%- set is_cut = plan.get('commands_to_settle') and plan.commands_to_settle > plan.commands_ahead -%}
    {%- if is_cut or plan.log_upper is none or plan.log_upper <= plan.upper or plan.open_upper > plan.upper -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set until = trueup._var('trueup_until') -%}
    {{ return(
        'var `trueup_until`' if until is not none and until <= plan.upper
        else 'option `input_upper`' if options.input_upper else none
    ) }}
{%- endmacro %}


{#- The code of the result of such a run: a log that ends below the frontier is a notice. -#}
{% macro _idle_code(plan, note) -%}
    {{ return('NOOP' if note is none or plan.last_seq == 0 else 'NOTICE') }}
{%- endmacro %}
