{#-
    The commands of one key, each with the rule by which it won or lost, for `explain`. A log does not say
    when a command arrived. So a command came in time if the changelog has its effect at its tick. If the tick
    was settled without it, it was late.
-#}

{#-
    CTEs that say of each command whether it was late, and which command won when its tick was settled.

    Reads: `explained`, `changes`, `last_change`, `frontier`. Ends with: `settled_winners`.
-#}
{% macro _settled_winners_ctes(collection, values) -%}
    {%- set sequence = trueup._sequence_terms(collection.options) -%}
    {%- set has_unchanged = '_unchanged' in collection.extras -%}
-- A truncate comes before the other commands of its order. It has no content.
sequenced as (

    select
        _ts,
        _order,
        {% for name in sequence[1:-1] -%}
        case when not _is_truncate then {{ name }} end as {{ name }},
        {% endfor -%}
        _value,
        _is_truncate,
        {{ '_unchanged' if has_unchanged else 'cast(null as array<string>) as _unchanged' }},
        {{ trueup._exact_json_expr('_old_key') if trueup._has_carried_values(collection.extras)
            else 'cast(null as string)' }} as _old_key
    from explained

),

ranked as (

    select
        *,
        -- Duplicates share a rank. Rank 1 wins the tick.
        dense_rank() over (partition by _ts order by {{ sequence | join(' desc, ') }} desc)
            as _command_rank,
        row_number() over (
            partition by _ts, _is_truncate, {{ sequence | join(', ') }} order by _ts
        ) > 1 as _is_duplicate
    from sequenced

),

moments as (

    select
        _ts,
        any_value(_held) filter (where _held is not null) as _held,
        coalesce(max(_is_own_change), false) as _is_own_change
    from (
        select _ts, _held, _cause is null as _is_own_change from changes
        union all
        select _ts, null as _held, null as _is_own_change from ranked
    )
    group by _ts

),

-- What the key had before and after each tick, as the changelog has it.
ticks as (

    select
        _ts,
        _is_own_change,
        last_value(_held, true) over (order by _ts)._value as _after,
        last_value(_held, true) over (
            order by _ts rows between unbounded preceding and 1 preceding
        )._value as _before,
        lead(_ts) over (order by _ts) as _next_ts
    from moments

),

placed as (

    select
        ranked.*,
        ticks._before,
        ticks._after,
        ticks._is_own_change,
        coalesce(ranked._ts < frontier._upper, false) as _is_settled,
        -- A compaction forgets what the key had before the tick `since`, except the last value.
        coalesce(ranked._ts >= frontier._since, true)
        or coalesce(ranked._ts >= last_change._first_ts, false)
        or coalesce(ticks._next_ts >= frontier._since, true) as _is_known,
        {{ trueup._has_value_of_expr(values, 'ranked', 'ticks._after', has_unchanged) }} as _gives_value
    from ranked
    inner join ticks on ranked._ts = ticks._ts
    cross join frontier
    cross join last_change

),

timed as (

    select
        *,
        _is_settled and coalesce(_command_rank < _settled_rank, true) as _is_late,
        max(if(_is_settled, _ts, null)) over () as _last_settled_ts
    from (
        select
            *,
            -- The command that won when the tick was settled.
            if(_is_known, min(if(_gives_value, _command_rank, null)) over (partition by _ts), 1)
                as _settled_rank
        from placed
    )

),

settled_winners as (

    select
        timed.*,
        max(if(_command_rank = _settled_rank, struct(_order, _is_truncate), null))
            over (partition by _ts) as _winner,
        min(if(coalesce(size(_unchanged), 0) <= 0, _command_rank, null)) over (partition by _ts)
            as _first_whole_rank
    from timed

)
{%- endmacro %}


{#-
    CTEs that give each command its verdict. `_command_verdicts` has all of them, each with its rule.

    Reads: `settled_winners`, `settled_updates`, `last_change`. Ends with: `judged`.
-#}
{% macro _judged_commands_ctes(collection, values) -%}
    {%- set has_unchanged = '_unchanged' in collection.extras -%}
-- The command that a correction brought: of those with its value, the one with the greatest place below it.
corrections as (

    select
        _ts as _corrected_ts,
        _seq as _corrected_seq,
        any_value(_cause) as _cause,
        any_value(_value) filter (where _diff > 0) as _corrected
    from settled_updates
    where _cause is not null
    group by _ts, _seq

),

carried as (

    select
        corrections._corrected_seq,
        corrections._corrected_ts,
        max(struct(settled_winners._ts, -settled_winners._command_rank as _command_rank)) as _command_place
    from corrections
    inner join settled_winners
        on (
            settled_winners._ts < corrections._corrected_ts
            -- Adopted rows have the tick of the last command of the log.
            or corrections._cause = 'adopted' and settled_winners._ts = corrections._corrected_ts
        )
        and (settled_winners._is_late or corrections._cause <> 'late_command')
        and {{ trueup._has_value_of_expr(values, 'settled_winners', 'corrections._corrected', has_unchanged) }}
    group by corrections._corrected_seq, corrections._corrected_ts

),

carriers as (

    select
        _command_place,
        max(struct(_corrected_ts, _corrected_seq)) as _correction
    from carried
    group by _command_place

),

judged as (

    select
        winners.*,
        carriers._correction,
        rand() as _step_token,
        {{ trueup._explained_verdict_expr(collection) | indent }} as verdict
    from settled_winners as winners
    cross join last_change
    left join carriers
        on winners._ts = carriers._command_place._ts
        and winners._command_rank = -carriers._command_place._command_rank

)
{%- endmacro %}
