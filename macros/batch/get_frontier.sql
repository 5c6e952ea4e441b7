{#-
    Reads, in one query, where the collection stands and what its log holds. A dict:

    `last_seq`                 the last batch in the changelog, 0 before the first
    `applied_seq`              the last batch in the state
    `seq`, `lower`, `upper`    the batch to mint; the first lower is the option `as_of`, and
                               `upper` is never below `lower`
    `commands_settled`         commands of the log below `lower`, now
    `late_dropped`             of these, those that came after their tick was settled; null where
                               the log has lost commands since
    `commands_ahead`           commands of the log at or past `lower`
    `records_indexed`          rows and errors that the state holds
    `leftover_batch_id`        of a batch that is staged and was never appended, else none
    `last_batch_id`            of the last batch in the changelog
    `has_truncates`            whether the log has truncates that are not settled
    `has_settled_truncates`    whether it has others
    `open_upper`               the ticks from `upper` to before this one are open: an eager batch
                               writes them, too; `upper` where the collection is not eager
    `has_provisional`          whether the changelog may have updates of open ticks
    `correction_count`         the corrections that wait for this batch
    `partitions`               how far each partition goes, in JSON; none unless `is_reclocked`
    `since`                    the first tick that can be read; none where nothing was compacted
    `settled_definition`       of the commands that the last batch was made of
    `lacks_batches`            whether the changelog has not one progress row a batch

    Null ticks are refused here: a command without a tick would never be settled, nor missed. A
    collection by a select has no log (`commands` is none): `input_upper` says how far it goes.
-#}
{% macro get_frontier(
    commands, changelog, batch, state, is_reclocked, options, corrections=none, input_upper=none
) -%}
    {%- set query = trueup.frontier_sql(
        commands, changelog, batch, state, is_reclocked, options, corrections, input_upper
    ) -%}
    {%- set frontier = run_query(query).rows[0].dict() -%}
    {%- do trueup._require_no_null_ticks(commands, frontier.null_ticks) -%}
    {%- if options.late == 'fail' and frontier.late_dropped -%}
        {%- do trueup._refuse(
            'With option `late: fail` every command of ' ~ commands,
            'at or past the lower ' ~ frontier.lower ~ ' when it comes',
            frontier.late_dropped ~ ' commands below it, which came after their tick was settled',
            'Nothing is staged. Take them out of the log, or set the option `late`.'
        ) -%}
    {%- endif -%}
    {%- if frontier.has_provisional and not options.eager -%}
        {%- do trueup._refuse(
            'Option `eager` of ' ~ model.name,
            'true as long as the changelog has updates of open ticks', 'false',
            "Take them back first: run once with `eager: true` and --vars '{trueup_until: "
            ~ frontier.lower ~ "}'."
        ) -%}
    {%- endif -%}
    {{ return(frontier) }}
{%- endmacro %}


{#- Raises where commands have no tick: before a rebase drops what it could not make again. -#}
{% macro require_ticks(commands, is_reclocked) -%}
    {%- set is_missing = '_partition is null or _offset is null' if is_reclocked else '_ts is null' -%}
    {%- set row = run_query('select count_if(' ~ is_missing ~ ') from ' ~ commands).rows[0] -%}
    {%- do trueup._require_no_null_ticks(commands, row[0]) -%}
{%- endmacro %}


{% macro _require_no_null_ticks(commands, null_ticks) -%}
    {%- if null_ticks > 0 -%}
        {%- do trueup._refuse(
            'The tick (`ts`), or the partition and offset (`reclock`), of `trueup.commands`',
            'not null for every command of ' ~ commands, null_ticks ~ ' commands without one',
            'Give them one, or leave them out of the relation that `trueup.commands` reads.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The select behind `get_frontier`: one row. -#}
{% macro frontier_sql(
    commands, changelog, batch, state, is_reclocked, options, corrections=none, input_upper=none
) -%}
    {#- What a select says cannot be capped; the collections that it reads are. -#}
    {%- set until = trueup._var('trueup_until') if commands is not none else none -%}
    {%- set input_upper = input_upper or 'log_upper' -%}
    {%- if options.input_upper -%}
        {%- set input_upper = trueup._tick_expr(
            '(' ~ options.input_upper ~ ')', 'Option `input_upper`'
        ) -%}
    {%- endif -%}
with

-- The state is read before the changelog: whatever other runs commit in between, it is not ahead.
state_progress as (

    select max(_seq) as applied_seq from {{ state }} where _kind = 'progress'

),

changelog_progress as (

    select
        coalesce(max(_seq), 0) as last_seq,
        coalesce(max_by(_upper, _seq), {{ options.as_of }}) as lower,
        max_by(_batch_id, _seq) as last_batch_id,
        max_by(_statistics, _seq) as _statistics,
        -- Not the last one's: its batch may have been staged before a compaction.
        max(_statistics.since) as since,
        count(*) as progress_count,
        size(collect_set(_seq)) as batch_count
    from {{ changelog }}
    where _kind = 'progress'

),

{{ trueup.measure_log(commands) }},

leftover as (

    select max(staged._batch_id) as leftover_batch_id
    from {{ batch }} as staged
    left anti join {{ changelog }} as appended
        on appended._kind = 'progress' and appended._batch_id = staged._batch_id
    where staged._kind = 'progress'

),

{% if is_reclocked -%}
{{ trueup.collect_partitions(commands, changelog) }},

{% endif -%}
{% if corrections -%}
waiting as (

    select count(*) as correction_count
    from {{ corrections }}
    where {{ trueup.is_waiting_expr('(select last_batch_id from changelog_progress)') }}

),

{% endif -%}
capped as (

    select
        *,
        greatest(lower, least(
            coalesce({{ input_upper }}, lower),
            {{ 'null' if until is none else until }}
        )) as upper,
        least(log_upper, {{ 'null' if until is none else until }}) as read_upper
    from changelog_progress
    cross join state_progress
    cross join log
    cross join leftover
    {%- if is_reclocked %}
    cross join reclocked
    {%- endif %}
    {%- if corrections %}
    cross join waiting
    {%- endif %}

){% if options.max_commands_per_batch %},

{{ trueup.cut_at_a_tick(commands, options.max_commands_per_batch) }}{% endif %}

select
    last_seq,
    last_seq + 1 as seq,
    applied_seq,
    lower,
    {% if options.max_commands_per_batch -%}
    coalesce((select cut_upper from cut), upper) as upper,
    {%- else -%}
    upper,
    {%- endif %}
    null_ticks,
    commands_settled,
    commands_ahead,
    case
        when last_seq = 0 then 0
        when commands_settled >= _statistics.commands_settled
            then commands_settled - _statistics.commands_settled
    end as late_dropped,
    coalesce(_statistics.records_indexed, 0) as records_indexed,
    leftover_batch_id,
    coalesce(last_truncate >= lower, false) as has_truncates,
    coalesce(first_truncate < lower, false) as has_settled_truncates,
    last_batch_id,
    {% set read_to = 'greatest(upper, read_upper)' if options.eager else 'upper' -%}
    {% if options.max_commands_per_batch -%}
    coalesce((select cut_upper from cut), {{ read_to }}) as open_upper,
    {%- else -%}
    {{ read_to }} as open_upper,
    {%- endif %}
    coalesce(_statistics.open_upper > lower, false) as has_provisional,
    {{ 'correction_count' if corrections else '0 as correction_count' }},
    {{ 'partitions' if is_reclocked else 'null as partitions' }},
    since,
    _statistics.definition as settled_definition,
    progress_count <> last_seq or batch_count <> last_seq as lacks_batches
from capped
{%- endmacro %}


{#- The CTE `log`, of one row: how far the commands go, and what is special about them. -#}
{% macro measure_log(commands) -%}
log as (

    {% if commands is none -%}
    select
        cast(null as bigint) as log_upper,
        0 as commands_settled,
        0 as commands_ahead,
        0 as null_ticks,
        cast(null as bigint) as last_truncate,
        cast(null as bigint) as first_truncate
    {%- else -%}
    select
        max(_ts) + 1 as log_upper,
        count_if(_ts < (select lower from changelog_progress)) as commands_settled,
        count_if(_ts >= (select lower from changelog_progress)) as commands_ahead,
        count_if(_ts is null) as null_ticks,
        max(_ts) filter (where _op = 'truncate') as last_truncate,
        min(_ts) filter (where _op = 'truncate') as first_truncate
    from {{ commands }}
    {%- endif %}

)
{%- endmacro %}


{#-
    CTEs that cut the batch at a tick: `cut_upper` takes as many ticks as hold at most
    `max_commands` commands, at least one; null where all of them fit.
-#}
{% macro cut_at_a_tick(commands, max_commands) -%}
ticks as (

    select
        _ts,
        sum(count(*)) over (order by _ts) as command_count
    from {{ commands }}
    where _ts >= (select lower from capped) and _ts < (select upper from capped)
    group by _ts

),

cut as (

    select
        case
            when max(command_count) > {{ max_commands }} then coalesce(
                max(_ts) filter (where command_count <= {{ max_commands }}), min(_ts)
            ) + 1
        end as cut_upper
    from ticks

)
{%- endmacro %}
