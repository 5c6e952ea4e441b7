{#-
    The CTE `progress`: the one progress row of the batch, with its statistics. It checks that the
    state which the priors came from is exactly the one that the batch was minted on.
-#}
{% macro summarize_batch(frontier, state, identity) -%}
transitions as (

    select
        *,
        not (_value <=> _prior) as _is_change,
        _value is not null and _value._error is null as _is_row,
        _value._error is not null as _is_error,
        _prior is not null and _prior._error is null as _was_row,
        _prior._error is not null as _was_error
    from steps_taken

),

counts as (

    select
        coalesce(sum(_command_count), 0) as messages_received,
        count_if(_is_tie) as ties,
        count_if(_is_row and not _was_row) as inserts,
        count_if(_is_row and _was_row and _is_change) as updates,
        count_if(_was_row and not _is_row) as deletes,
        count_if(_was_row and _is_change) as retractions,
        count_if(_is_error and _is_change) as error_inserts,
        count_if(_was_error and _is_change) as error_retractions,
        any_value(_value) filter (where false) as _value
    from transitions

),

applied as (

    select max(_seq) as _seq from {{ state }} where _kind = 'progress'

),

progress as (

    select
        {% for name in identity[:-1] -%}
        null as {{ trueup._quote(name) }},
        {% endfor -%}
        counts._value,
        cast(null as string) as _error_key,
        cast(null as bigint) as _ts,
        cast(null as int) as _diff,
        cast(null as string) as _cause,
        case
            when applied._seq <=> {{ frontier }}.seq - 1 then 'progress'
            else raise_error(concat(
                'state moved: batch ', {{ frontier }}.seq, ' was minted on a state at batch ',
                {{ frontier }}.seq - 1, ', which is now at ',
                coalesce(cast(applied._seq as string), 'none'),
                '; nothing is staged, run again'
            ))
        end as _kind,
        named_struct(
            'messages_received', messages_received,
            'commands_settled', {{ frontier }}.commands_settled + messages_received,
            'updates_staged',
            retractions + inserts + updates + error_inserts + error_retractions,
            'inserts', inserts,
            'updates', updates,
            'deletes', deletes,
            'retractions', retractions,
            'error_inserts', error_inserts,
            'error_retractions', error_retractions,
            'late_dropped', {{ frontier }}.late_dropped,
            'ties', ties,
            'records_indexed',
            {{ frontier }}.records_indexed
            + inserts - deletes + error_inserts - error_retractions,
            'minted_at', {{ frontier }}.minted_at,
            'committed_at', cast(null as timestamp)
        ) as _statistics
    from counts
    cross join applied

)
{%- endmacro %}


{#- The type of `_statistics`: counts of rows as bigint, times in UTC. -#}
{% macro _statistics_type() -%}
    {{ return('struct<' ~ [
        'messages_received: bigint', 'commands_settled: bigint', 'updates_staged: bigint',
        'inserts: bigint', 'updates: bigint', 'deletes: bigint', 'retractions: bigint',
        'error_inserts: bigint', 'error_retractions: bigint', 'late_dropped: bigint',
        'ties: bigint', 'records_indexed: bigint',
        'minted_at: timestamp', 'committed_at: timestamp',
    ] | join(', ') ~ '>') }}
{%- endmacro %}
