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


{#-
    The message of a run that has nothing to write. Commands may wait, because the option `input_upper` or the var
    `trueup_until` keeps their ticks open. With `eager` they do not wait: their rows are provisional.
-#}
{% macro _idle_message(plan, note) -%}
    {%- set is_up_to_date = trueup._idle_code(plan, note) == 'NOOP' -%}
    {%- set waiting = plan.commands_ahead if plan.open_upper == plan.lower else 0 -%}
    {{ return([
        ('up to date at ' ~ plan.lower) if is_up_to_date,
        (waiting ~ ' commands wait in open ticks') if waiting > 0,
        note
    ] | select | join('; ')) }}
{%- endmacro %}


{#- The code of the result of such a run: a log that ends below the frontier is a notice. -#}
{% macro _idle_code(plan, note) -%}
    {{ return('NOOP' if note is none or plan.last_seq == 0 else 'NOTICE') }}
{%- endmacro %}
