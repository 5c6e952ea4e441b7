{#-
    The fold of a first batch with `first_batch: snapshot`. Nothing is there before the batch and only the last
    value of each key is written, so one aggregate finds the last command of each key. It does not sort the
    commands into ticks, and does not see ties.
-#}

{#-
    Whether the last command of each key gives its value. It does not if a truncate may come after it, or if it
    leaves columns unchanged. The option `ties: fail` and the orders of `late: newest` need all steps.
-#}
{% macro _can_take_last_commands(collection, plan) -%}
    {{ return(not (
        plan.has_truncates or plan.correction_count or '_unchanged' in collection.extras
        or collection.options.ties == 'fail' or collection.options.late == 'newest'
    )) }}
{%- endmacro %}


{#- The last command of each key as a step, as a select, with the number of its commands. -#}
{% macro _last_commands_select(collection, input) -%}
    {%- set identity = trueup._column_list(collection.identity) -%}
    {%- set sequence = trueup._sequence_terms(collection.options) -%}
select
    {{ identity }},
    2 as _step,
    _last._ts,
    cast(null as string) as _cause,
    {% for name in sequence -%}
    _last.{{ name }},
    {% endfor -%}
    _command_count
from (
    -- The terms of the sequence end with the value, so the greatest struct has all of the last command.
    select
        {{ identity }},
        max(struct(_ts, {{ sequence | join(', ') }})) as _last,
        count(*) as _command_count
    from {{ trueup._subquery(input) }}
    group by {{ identity }}
)
{%- endmacro %}


{#-
    The CTE `folded` for steps that are the last commands: nothing comes before them.

    Reads: `steps`. Ends with: `folded`.
-#}
{% macro _folded_last_commands_ctes() -%}
folded as (

    select
        *,
        if(_step = 2, null, _value) as _prior,
        if(_step = 2, null, _digest) as _prior_digest,
        if(_step = 2, null, _order) as _previous_order,
        false as _is_tie
    from steps

)
{%- endmacro %}
