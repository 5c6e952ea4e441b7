{#-
    The CTE `progress`: the one progress row of the batch, with its statistics. It checks that the
    priors came from exactly the state that the batch was planned on.

    Reads: `steps_taken`, `updates`, the changelog, the state. Ends with: `progress`.
-#}
{% macro _progress_ctes(collection) -%}
    {%- set identity, options = collection.identity, collection.options -%}
    {%- set plan = trueup._session_name(collection.name, 'plan') -%}
    {%- set is_newest = options.late == 'newest' -%}
transitions as (

    select
        *,
        not (_value <=> _prior) as _is_change,
        _value is not null and _value._error is null as _is_row,
        _value._error is not null as _is_error,
        _prior is not null and _prior._error is null as _was_row,
        _prior._error is not null as _was_error,
        case
            when _is_tie then {{ trueup._sample_expr(identity) }}
        end as _tie
    from steps_taken
    {%- if options.eager %}
    -- Commands of open ticks are counted when they are settled.
    where _step = 1 or _ts < {{ plan }}.upper
    {%- endif %}

),

counts as (

    select
        coalesce(sum({{ 'if(_step = 2, _command_count, 0)' if is_newest
            else '_command_count' }}), 0) as messages_received,
        count_if(_step = 1 and _is_change) as corrections,
        {% if is_newest -%}
        count_if(_step = 1) as late_taken,
        {% endif -%}
        count_if(_is_tie) as ties,
        array_compact(array_distinct(array(min(_tie), max(_tie)))) as tie_samples,
        count(_previous_order) as order_pairs,
        count_if(_order < _previous_order) as order_inversions,
        count_if(_is_row and not _was_row) as inserts,
        count_if(_is_row and _was_row and _is_change) as updates,
        count_if(_was_row and not _is_row) as deletes,
        count_if(_was_row and _is_change) as retractions,
        count_if(_is_error and _is_change) as error_inserts,
        count_if(_was_error and _is_change) as error_retractions,
        {% if options.errors == 'fail' -%}
        min(
            case
                when _is_error and _is_change then {{ trueup._sample_expr(identity) }}
            end
        ) as error_sample,
        collect_set(
            case when _is_error and _is_change then {{ trueup._error_kind_expr() }} end
        ) as error_kinds,
        {% endif -%}
        any_value(_value) filter (where false) as _value
    from transitions

),

{% if is_newest -%}
order_counts as (

    select
        count_if(_step = -3) as superseded,
        count_if(_step in (-4, -2, -1)) as orders_staged,
        count_if(_step = -1) - count_if(_step = -2) as orders_added
    from steps

),

{% endif -%}
{% if options.eager -%}
staged_updates as (

    select count(*) as updates_staged, coalesce(sum(_diff), 0) as records_staged from updates

),

-- Rule: a batch that settles no tick settles no offset, even if it writes open ticks.
last_partitions as (

    select any_value(transform(_statistics.partitions, _each -> named_struct(
        '_partition', _each._partition,
        'first_offset', cast(null as bigint),
        'next_offset', _each.next_offset
    ))) as partitions
    from {{ collection.changelog }}
    where _kind = 'progress' and _seq = {{ plan }}.seq - 1

),

{% endif -%}
applied as (

    select max(_seq) as _seq
    from {{ collection.state }}
    where _kind = 'progress' and _seq >= {{ plan }}.seq - 1

),

progress as (

    select
        {% for name in identity[:-1] -%}
        null as {{ trueup._quoted(name) }},
        {% endfor -%}
        counts._value,
        cast(null as string) as _error_key,
        cast(null as bigint) as _ts,
        cast(null as int) as _diff,
        cast(null as string) as _cause,
        case
            when not applied._seq <=> {{ plan }}.seq - 1 then raise_error(concat(
                'state moved: batch ', {{ plan }}.seq, ' was planned on a state at batch ',
                {{ plan }}.seq - 1, coalesce(concat(', which is now at ', applied._seq), ', which is gone'),
                '; nothing is staged, run again'
            ))
            {%- if options.ties == 'fail' %}
            when ties > 0 then raise_error(concat(
                'ties: ', ties, ' times commands of one key and tick have an equal order but'
                ' different content, such as ', array_join(tie_samples, ', '),
                '; nothing is staged: make `sequence_by` unique, or set the option `ties` to hash'
            ))
            {%- endif %}
            {%- if options.errors == 'fail' %}
            when error_inserts > 0 then raise_error(concat(
                'errors: ', error_inserts, ' commands of the batch are errors (',
                array_join(sort_array(error_kinds), ', '), '), such as ', error_sample,
                '; nothing is staged: correct the log, or set the option `errors` to keep'
            ))
            {%- endif %}
            else 'progress'
        end as _kind,
        named_struct(
            'messages_received', messages_received{{ ' + superseded' if is_newest }},
            'commands_read', {{ plan }}.commands_read,
            'commands_settled',
            {{ plan }}.commands_settled + messages_received{{ ' + superseded' if is_newest }},
            'updates_staged',
            {{ 'updates_staged' if options.eager else
                'retractions + inserts + updates + error_inserts + error_retractions' }},
            'inserts', inserts,
            'updates', updates,
            'deletes', deletes,
            'retractions', retractions,
            'error_inserts', error_inserts,
            'error_retractions', error_retractions,
            'late_dropped', {{ plan }}.late_dropped,
            'superseded', {% if is_newest -%}
            superseded + if({{ plan }}.late_dropped is null, null,
                greatest({{ plan }}.late_dropped - late_taken, 0))
            {%- else %}cast(null as bigint){% endif %},
            'tombstones', {% if is_newest -%}
            {{ plan }}.tombstones + orders_added
            - (inserts - deletes + error_inserts - error_retractions)
            {%- else %}cast(null as bigint){% endif %},
            'orders_staged', {{ 'orders_staged' if is_newest else 'cast(null as bigint)' }},
            'ties', ties,
            'tie_samples', tie_samples,
            'order_pairs', order_pairs,
            'order_inversions', order_inversions,
            'corrections', corrections,
            'records_indexed',
            {{ plan }}.records_indexed + {{ 'records_staged' if options.eager else
                'inserts - deletes + error_inserts - error_retractions' }},
            'open_upper', {{ plan }}.open_upper,
            'since', {{ plan }}.since,
            'definition', {{ plan }}.definition,
            'partitions', {% if options.eager -%}
            if({{ plan }}.upper > {{ plan }}.lower, {{ plan }}.partitions,
                last_partitions.partitions)
            {%- else -%}
            {{ plan }}.partitions
            {%- endif %},
            'position', {{ plan }}.position,
            'whole_log_reason', {{ plan }}.whole_log_reason,
            'state_verified_by', {{ plan }}.state_verified_by,
            'format', cast({{ trueup._format_number() }} as bigint),
            'read_only', {{ trueup._var('trueup_read_only') | lower }},
            'minted_at', {{ plan }}.minted_at,
            'committed_at', cast(null as timestamp)
        ) as _statistics
    from counts
    cross join applied
    {%- if is_newest %}
    cross join order_counts
    {%- endif %}
    {%- if options.eager %}
    cross join staged_updates
    cross join last_partitions
    {%- endif %}

)
{%- endmacro %}


{#- A key and its tick for a message, cut to 200 characters. -#}
{% macro _sample_expr(identity) -%}
    {{ return('left(to_json(struct(' ~ trueup._column_list(identity) ~ ', _ts)), 200)') }}
{%- endmacro %}
