{#-
    The commands of one key, each with the rule by which it won or lost, for `explain`. A log does not say
    when a command arrived. So a command came in time if the changelog has its effect at its tick. If the tick
    was settled without it, it was late.
-#}

{#-
    CTEs that give each command its verdict. `_command_verdicts` has all of them, each with its rule.

    Reads: `explained`, `settled_updates`, `changes`, `last_change`, `frontier`. Ends with: `judged`.
-#}
{% macro _judged_commands_ctes(collection, values) -%}
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
        {{ '_unchanged' if has_unchanged else 'cast(null as array<string>) as _unchanged' }}
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
        {{ trueup._is_said_expr(values, 'ranked', 'ticks._after', has_unchanged) }} as _is_said
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
            if(_is_known, min(if(_is_said, _command_rank, null)) over (partition by _ts), 1)
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

),

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
        and {{ trueup._is_said_expr(values, 'settled_winners', 'corrections._corrected', has_unchanged) }}
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
        {{ trueup._verdict_expr(collection) | indent }} as verdict
    from settled_winners as winners
    cross join last_change
    left join carriers
        on winners._ts = carriers._command_place._ts
        and winners._command_rank = -carriers._command_place._command_rank

)
{%- endmacro %}


{#-
    Whether a command says the value `held`. A command that leaves columns unchanged says only its own columns;
    an error stays until a whole command comes.
-#}
{% macro _is_said_expr(values, command, held, has_unchanged) -%}
    {%- set is_equal = command ~ '._value <=> ' ~ held -%}
    {%- if not has_unchanged -%}
        {{ return(is_equal) }}
    {%- endif -%}
    {%- set terms = [] -%}
    {%- for name in values -%}
        {%- set column = trueup._quoted(name) -%}
        {%- do terms.append(
            'array_contains(' ~ command ~ '._unchanged, ' ~ trueup._literal(name | lower) ~ ') or '
            ~ command ~ '._value.' ~ column ~ ' <=> ' ~ held ~ '.' ~ column
        ) -%}
    {%- endfor -%}
case
            when {{ command }}._value is null or coalesce(size({{ command }}._unchanged), 0) <= 0
                then {{ is_equal }}
            else {{ held }} is not null
                and ({{ held }}._error is not null or ({{ terms | join(') and (') }}))
        end
{%- endmacro %}


{#-
    The verdict on a command, as an SQL expression over `winners`, `carriers` and `last_change`. With `late:
    newest` the next run takes a late command that is newer than all commands that had an effect.
-#}
{% macro _verdict_expr(collection) -%}
    {%- set options = collection.options -%}
    {%- set has_ticks = '_offset' not in collection.extras -%}
case
    {%- if options.as_of is not none and has_ticks %}
    when winners._ts < {{ options.as_of }} then 'before_as_of'
    {%- endif %}
    when not winners._is_settled then 'not_settled'
    when winners._is_duplicate then 'duplicate'
    when carriers._correction = struct(last_change._ts, last_change._seq) then 'wins'
    when winners._is_late then case
        when carriers._correction is not null then 'late_corrected'
        {%- if options.late == 'correct' %}
        when winners._command_rank = 1 and winners._ts = winners._last_settled_ts then 'late_waiting'
        else 'late_superseded'
        {%- elif options.late == 'newest' and has_ticks %}
        when coalesce(struct(winners._ts, winners._order) > max(
            if(
                winners._is_settled and (not winners._is_late or carriers._correction is not null),
                struct(winners._ts, winners._order), null
            )
        ) over (), true) then 'late_waiting'
        else 'older'
        {%- else %}
        else '{{ {'newest': 'older', 'fail': 'late_stops'}.get(options.late, 'late_dropped') }}'
        {%- endif %}
    end
    when winners._command_rank > winners._settled_rank then case
        when
            winners._value is not null
            and winners._command_rank <= coalesce(winners._first_whole_rank, winners._command_rank)
            then 'merged'
        when winners._winner._is_truncate then 'truncated'
        when winners._order <=> winners._winner._order then 'lost_tie'
        else 'lower_order'
    end
    when winners._is_own_change and winners._ts = last_change._ts then 'wins'
    when winners._is_own_change or not winners._is_known then 'superseded'
    when winners._value is null and winners._before is null then 'absent_delete'
    else 'no_change'
end
{%- endmacro %}


{#- Each verdict on a command, with its rule in one sentence. -#}
{% macro _command_verdicts(options) -%}
    {{ return({
        'wins': 'the key has this value now, or none, because of this command',
        'superseded': 'it changed the key at its tick; a later tick or a correction changed it again',
        'no_change': 'it equals the value that the key had before, so it changed nothing',
        'absent_delete': 'it deletes a key that had no value, so it changed nothing',
        'duplicate': 'the same command is in the log more than once; a duplicate changes nothing',
        'lower_order': 'another command of its tick has a greater order',
        'lost_tie': 'another command of its tick has the same order; ' ~ {
            'prefer_delete': 'a delete wins, else the content with the greater hash',
            'prefer_upsert': 'a delete loses, else the content with the greater hash wins',
        }.get(options.ties, 'the content with the greater hash wins'),
        'merged': 'commands of a greater order in its tick leave columns unchanged, so they kept its values',
        'truncated': 'a truncate of a greater order in its tick removed it',
        'late_dropped': 'its tick was settled without it, so it was dropped (option `late: drop`)',
        'late_stops': 'its tick was settled without it, so each run stops (option `late: fail`)',
        'late_waiting': 'its tick was settled without it; the next run writes it (option `late: '
            ~ options.late ~ '`)',
        'late_corrected': 'its tick was settled without it, so a later batch wrote it; it was changed again since',
        'late_superseded': 'its tick was settled without it, and a command of a later tick or a greater order'
            ~ ' wins anyway',
        'older': 'it came after a newer command of its key (option `late: newest`)',
        'not_settled': 'its tick is at or past the upper of the last batch; '
            ~ ('its value is provisional (option `eager`)' if options.eager else 'a later run settles it'),
        'before_as_of': 'its tick is below the option `as_of`, so it does not belong to the collection',
    }) }}
{%- endmacro %}
