{#-
    Whether a command gives the value `held`. A command that leaves columns unchanged gives only its own columns;
    an error stays until a whole command comes.
-#}
{% macro _has_value_of_expr(values, command, held, has_unchanged) -%}
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
{% macro _explained_verdict_expr(collection) -%}
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
