{#-
    The select behind `_ensure_measured_log`: one row. `progress` is what `_get_progress` returns. `settled`
    is an SQL expression of how far the last batch goes in each partition of a log without ticks. It is none
    for a log with ticks. `input_upper` replaces the option.
-#}
{% macro _measured_log_select(
    commands, progress, settled, options, input_upper=none, part={}
) -%}
    {#- `trueup_until` does not cap the result of a select. It caps the collections that the select reads. -#}
    {%- set until = trueup._var('trueup_until') if commands is not none else none -%}
    {%- set until = 'null' if until is none else until -%}
    {%- set input_upper = input_upper
        or (trueup._input_upper_expr(options.input_upper) if options.input_upper else 'log_upper') -%}
    {#- In a log without ticks a batch is one tick. A greater `input_upper` would leave none for the next batches. -#}
    {%- set cap = 'coalesce(log_upper, lower), ' ~ until if settled else until -%}
    {%- set open_upper = 'greatest(upper, read_upper)' if options.eager else 'upper' -%}
    {%- if options.max_commands_per_batch -%}
        {%- set open_upper = 'coalesce(cut_upper, ' ~ open_upper ~ ')' -%}
    {%- endif -%}
    {%- set settled_before = trueup._number_or_null(progress.settled_before) -%}
    {%- set has_no_lower = progress.last_seq == 0 and options.as_of is none and settled is none -%}
    {#- Rule: without `as_of` a collection begins at the smallest tick of its log, or at 0. -#}
    {%- set bound = trueup._least_tick_expr() if has_no_lower and commands is not none
        else 'cast(' ~ progress.lower ~ ' as bigint)' -%}
with

{{ trueup._log_ctes(commands, progress, bound, part) }},

{% if settled -%}
{{ trueup._partitions_ctes(commands, progress.lower, settled) }},

{% endif -%}
capped as (

    select
        {% if has_no_lower and commands is none -%}
        -- If the inputs of a select end below 0, its result is written at their last tick, too.
        * except (lower),
        coalesce({{ input_upper }}, 0) as upper,
        case when upper < 0 then upper - 1 else 0 end as lower,
        {%- else -%}
        *,
        greatest(lower, least(coalesce({{ input_upper }}, lower), {{ cap }})) as upper,
        {%- endif %}
        -- `least` ignores nulls, so it must not see the upper of a part without commands.
        case when log_upper is not null then least(log_upper, {{ until }}) end as read_upper
    from log
    {%- if settled %}
    cross join reclocked
    {%- endif %}

)
{%- if options.max_commands_per_batch %},

{{ trueup._cut_ctes(commands, bound, options.max_commands_per_batch) }}
{%- endif %}

select
    lower,
    last_tick,
    {% if options.max_commands_per_batch -%}
    coalesce(cut_upper, upper) as upper,
    coalesce(cut_count, commands_ahead) as commands_ahead,
    commands_to_settle,
    {%- else -%}
    upper,
    commands_ahead,
    {%- endif %}
    log_upper,
    {{ open_upper }} as open_upper,
    commands_read,
    null_ticks,
    commands_settled,
    {% if progress.last_seq == 0 -%}
    0 as late_dropped,
    {%- else -%}
    case
        when commands_settled >= {{ settled_before }} then commands_settled - {{ settled_before }}
    end as late_dropped,
    {%- endif %}
    coalesce(next_truncate < {{ open_upper }}, false) as has_truncates,
    coalesce(first_truncate < lower, false) as has_settled_truncates
    {%- if part.get('changelog') %},
    {{ trueup._last_seq_expr(part.changelog) }} as last_seq_now
    {%- endif %}
    {%- if part.get('arrived_type') %},
    last_arrived,
    commands_arrived_last,
    {% if part.get('counts_after') -%}
    commands_after_read,
    {% endif -%}
    null_arrivals
    {%- endif %}
    {{- ',\n    partitions' if settled }}
from capped
{%- if options.max_commands_per_batch %}
cross join cut
{%- endif %}
{%- endmacro %}


{#-
    The CTE `log`, one row: how far the commands go, and their special cases. `bound` is the lower of the
    batch. If the log decides the lower, `bound` is the least possible tick.

    Reads: the relation `commands`. Ends with: `log`.
-#}
{% macro _log_ctes(commands, progress, bound, part) -%}
    {%- set begins_with_log = bound == trueup._least_tick_expr() -%}
log as (

    select
        {{ 'least(0, min(_ts))' if begins_with_log else bound }} as lower,
        {{ trueup._literal_or_null(progress.last_batch_id) }} as last_batch_id,
        {% if commands is none -%}
        cast(null as bigint) as last_tick,
        cast(null as bigint) as log_upper,
        0 as commands_read,
        0 as commands_settled,
        0 as commands_ahead,
        0 as null_ticks,
        cast(null as bigint) as next_truncate,
        cast(null as bigint) as first_truncate
        {%- else -%}
        max(_ts) as last_tick,
        {{ trueup._log_upper_expr(part, progress.lower) }} as log_upper,
        count(*) as commands_read,
        -- No count_if or filter here: Spark pushes such a condition down to the scan. There it fails if the
        -- bound is beyond the tick's type in the log, such as an int.
        {{ part.get('commands_before', 0) }} + count(case when _ts < {{ bound }} then 1 end) as commands_settled,
        count(case when _ts >= {{ bound }} then 1 end) as commands_ahead,
        count(case when _ts is null then 1 end) as null_ticks,
        min(case when _op = 'truncate' and _ts >= {{ bound }} then _ts end) as next_truncate,
        min(case when _op = 'truncate' then _ts end) as first_truncate
        {%- if part.get('arrived_type') %},
        -- The log may grow between its two reads. A later value is counted with those of the first read.
        -- Null if the commands were read first: they may lack the row with that value.
        case
            when max(seen.last_arrived) <= max(_arrived)
                then {{ trueup._arrived_number_expr('max(seen.last_arrived)', part.arrived_type) }}
        end as last_arrived,
        count(case when _arrived >= seen.last_arrived then 1 end) as commands_arrived_last,
        {% if part.get('counts_after') -%}
        count(case when {{ part.counts_after }} then 1 end) as commands_after_read,
        {% endif -%}
        count(case when _arrived is null then 1 end) as null_arrivals
        {%- endif %}
    from {{ commands }}
        {%- if part.get('arrived_type') %}
    cross join (select max(_arrived) as last_arrived from {{ commands }}) as seen
        {%- endif %}
        {%- endif %}

)
{%- endmacro %}
