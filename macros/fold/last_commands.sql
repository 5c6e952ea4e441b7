{#-
    The fold of a first batch with `first_batch: snapshot`. Nothing is there before the batch and only the last
    value of each key is written, so one aggregate finds the last command of each key. It does not sort the
    commands into ticks, and does not see ties.
-#}

{#- Whether this batch is the first one of a collection with `first_batch: snapshot`. -#}
{% macro _is_first_snapshot(collection, plan) -%}
    {{ return(plan.last_seq == 0 and collection.options.first_batch == 'snapshot') }}
{%- endmacro %}


{#- The plan of a batch. If the batch is a snapshot, its `since` says that no earlier tick can be read. -#}
{% macro _with_first_snapshot(collection, plan) -%}
    {%- if not trueup._is_first_snapshot(collection, plan) -%}
        {{ return(plan) }}
    {%- endif -%}
    {{ return(dict(
        plan, since=plan.upper - 1, takes_last_commands=trueup._can_take_last_commands(collection, plan)
    )) }}
{%- endmacro %}


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


{#-
    Whether a large batch has at least ten commands for each key, by an estimate. Then the last tick of each key is
    found first: this needs no sort, and only few commands are left to compare. The log is read twice for it, so
    the run must read a snapshot of the log. A log without ticks has only one tick in a batch.
-#}
{% macro _get_has_few_keys(collection, input, plan) -%}
    {%- set count = trueup._folded_count(plan) -%}
    {%- if trueup._can_broadcast_keys(count // 10) or not plan.is_log_pinned
            or '_offset' in collection.extras -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set key_count = run_query(
        'select approx_count_distinct(struct(' ~ trueup._column_list(collection.identity) ~ ')) from '
        ~ trueup._subquery(input)
    ).rows[0][0] -%}
    {{ return(trueup._can_broadcast_keys(key_count)) }}
{%- endmacro %}


{#-
    The last command of each key as a step, as a select, with the number of its commands. `has_few_keys` is what
    `_get_has_few_keys` returns.
-#}
{% macro _last_commands_select(collection, input, has_few_keys) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set identity = trueup._column_list(collection.identity) -%}
    {%- set sequence = trueup._sequence_terms(collection.options) -%}
    {%- set count = 'count(*)' -%}
    {%- if has_few_keys -%}
        {%- set input = trueup._commands_of_last_ticks_select(collection.identity, input) -%}
        {%- set count = 'max(_commands_of_key)' -%}
    {%- endif -%}
select
    {{ identity }},
    {{ step.command }} as _step,
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
        {{ count }} as _command_count
    from {{ trueup._subquery(input) }}
    group by {{ identity }}
)
{%- endmacro %}


{#-
    The commands of the last tick of each key, as a select, each with the number of all commands of its key. Spark
    sends the last ticks to each task, so that no command is sorted or sent.
-#}
{% macro _commands_of_last_ticks_select(identity, input) -%}
    {%- set columns = trueup._column_list(identity) -%}
select /*+ broadcast(last_ticks) */
    commands.*,
    last_ticks._commands_of_key
from {{ trueup._subquery(input) }} as commands
inner join (
    select {{ columns }}, max(_ts) as _ts, count(*) as _commands_of_key
    from {{ trueup._subquery(input) }}
    group by {{ columns }}
) as last_ticks
    on {{ trueup._same_key_expr(identity + ['_ts'], 'commands', 'last_ticks') }}
{%- endmacro %}


{#-
    The CTE `folded` for steps that are the last commands: nothing comes before them.

    Reads: `steps`. Ends with: `folded`.
-#}
{% macro _folded_last_commands_ctes() -%}
    {%- set step = trueup._step_numbers() -%}
folded as (

    select
        *,
        if(_step = {{ step.command }}, null, _value) as _prior,
        if(_step = {{ step.command }}, null, _digest) as _prior_digest,
        if(_step = {{ step.command }}, null, _order) as _previous_order,
        false as _is_tie
    from steps

)
{%- endmacro %}
