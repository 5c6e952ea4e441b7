{#- How far a collection is behind its log. Only commands at or past the frontier are read. -#}

{#-
    One row. `commands` is the number of commands that are not settled. `upper` is the end of their ticks;
    null if there are none, or if the log has no ticks. `input_upper` may keep some of these ticks open, so
    `commands_to_settle` counts only the commands that the next batch may settle. `frontier` is the upper of the last
    batch, an SQL expression; none or null if there is no batch.
-#}
{% macro _commands_ahead_select(tables, frontier) -%}
    {%- set frontier = 'coalesce(cast(' ~ trueup._number_or_null(frontier) ~ ' as bigint), '
        ~ trueup._first_lower_expr(tables) ~ ')' -%}
with

ahead as (

    {{ (trueup._offsets_ahead_select(tables) if tables.is_reclocked
        else trueup._ticks_ahead_select(tables.commands, frontier)) | indent }}

),

log as (

    {% if tables.is_reclocked -%}
    -- The next batch gives all of them one tick, the frontier.
    select try_add({{ frontier }}, 1) as log_upper
    {%- else -%}
    select try_add(max(_ts), 1) as log_upper from ahead
    {%- endif %}

),

ends as (

    select
        {% if tables.input_upper -%}
        {%- set given = trueup._input_upper_expr(tables.input_upper) -%}
        -- Without a value the next batch settles nothing. `least` alone would skip the null.
        if({{ given }} is null, null, least(log_upper, {{ given }})) as input_upper,
        {%- else -%}
        log_upper as input_upper,
        {%- endif %}
        log_upper
    from log

)

select
    count(ahead._is_ahead) as commands,
    {% if tables.is_reclocked -%}
    cast(null as bigint) as upper,
    count_if(ahead._is_ahead and ends.log_upper <= ends.input_upper) as commands_to_settle
    {%- else -%}
    max(ends.log_upper) as upper,
    count_if(ahead._ts < ends.input_upper or ends.log_upper is null and ahead._is_ahead)
        as commands_to_settle
    {%- endif %}
from ends
left join ahead on true
{%- endmacro %}


{#- The commands of a log with ticks that are not settled. -#}
{% macro _ticks_ahead_select(commands, frontier) -%}
select _ts, true as _is_ahead
from {{ commands }}
where _ts >= {{ frontier }}
{%- endmacro %}


{#-
    The tick at which the first batch of a log begins, as an SQL expression. An `as_of` that is no integer counts as
    none: the batch refuses it, and the report must still appear.
-#}
{% macro _first_lower_expr(input) -%}
    {%- set as_of = input.as_of if trueup._is_bigint(input.get('as_of')) else none -%}
    {{ return('0' if input.is_reclocked and as_of is none else trueup._first_tick_expr({'as_of': as_of})) }}
{%- endmacro %}


{#- The commands of a log without ticks that are not settled: those past the last settled offsets. -#}
{% macro _offsets_ahead_select(tables) -%}
select commands._ts, true as _is_ahead
from {{ tables.commands }} as commands
left join (
    select inline(max_by(_statistics.partitions, _seq))
    from {{ tables.changelog }}
    where _kind = 'progress'
) as settled on commands._partition = settled._partition
where settled.next_offset is null or commands._offset >= settled.next_offset
{%- endmacro %}
