{#-
    What a batch does, as the progress row tells it: the transitions of its steps, their counts, and the statistics.
    Both selects of a batch use these expressions: `_batch_select` and `_small_batch_select`.
-#}

{#- The columns of a step with what it changes, as select items. -#}
{% macro _transition_list(identity) -%}
*,
    not (_value <=> _prior) as _is_change,
    _value is not null and _value._error is null as _is_row,
    _value._error is not null as _is_error,
    _prior is not null and _prior._error is null as _was_row,
    _prior._error is not null as _was_error,
    case
        when _is_tie then {{ trueup._sample_expr(identity) }}
    end as _tie
{%- endmacro %}


{#-
    What is counted about the transitions of a batch, as a struct of aggregates. With `over` they are window functions.
-#}
{% macro _step_counts_expr(identity, options, over='') -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set is_newest = options.late == 'newest' -%}
    {%- set commands = 'if(_step = ' ~ step.command ~ ', _command_count, 0)' if is_newest else '_command_count' -%}
    {%- set counts = {
        'messages_received': 'coalesce(sum(' ~ commands ~ ')' ~ over ~ ', 0)',
        'corrections': 'count_if(_step = ' ~ step.correction ~ ' and _is_change)' ~ over,
        'ties': 'count_if(_is_tie)' ~ over,
        'first_tie': 'min(_tie)' ~ over,
        'last_tie': 'max(_tie)' ~ over,
        'order_pairs': 'count(_previous_order)' ~ over,
        'order_inversions': 'count_if(_order < _previous_order)' ~ over,
        'inserts': 'count_if(_is_row and not _was_row)' ~ over,
        'updates': 'count_if(_is_row and _was_row and _is_change)' ~ over,
        'deletes': 'count_if(_was_row and not _is_row)' ~ over,
        'retractions': 'count_if(_was_row and _is_change)' ~ over,
        'error_inserts': 'count_if(_is_error and _is_change)' ~ over,
        'error_retractions': 'count_if(_was_error and _is_change)' ~ over,
    } -%}
    {%- if is_newest -%}
        {%- do counts.update({'late_taken': 'count_if(_step = ' ~ step.correction ~ ')' ~ over}) -%}
    {%- endif -%}
    {%- if options.errors == 'fail' -%}
        {%- set of_new_error = 'case when _is_error and _is_change then ' -%}
        {%- do counts.update({
            'error_sample': 'min(' ~ of_new_error ~ trueup._sample_expr(identity) ~ ' end)' ~ over,
            'error_kinds': 'collect_set(' ~ of_new_error ~ trueup._error_kind_expr() ~ ' end)' ~ over,
        }) -%}
    {%- endif -%}
named_struct(
    {%- for name, count in counts.items() %}
    {{ trueup._literal(name) }}, {{ count }}{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- endmacro %}


{#- The samples of ties, one or two, from the counts. -#}
{% macro _tie_samples_expr() -%}
    {{ return('array_compact(array_distinct(array(_step_counts.first_tie, _step_counts.last_tie)))') }}
{%- endmacro %}


{#- The `_kind` of the progress row; raises if the batch must not be staged. The source has the counts. -#}
{% macro _progress_kind_expr(options, plan) -%}
case
    when not _applied_seq <=> {{ plan }}.seq - 1 then raise_error(concat(
        'state moved: batch ', {{ plan }}.seq, ' was planned on a state at batch ',
        {{ plan }}.seq - 1, coalesce(concat(', which is now at ', _applied_seq), ', which is gone'),
        '; nothing is staged, run again'
    ))
    {%- if options.ties == 'fail' %}
    when _step_counts.ties > 0 then raise_error(concat(
        'ties: ', _step_counts.ties, ' times commands of one key and tick have an equal order but'
        ' different content, such as ', array_join({{ trueup._tie_samples_expr() }}, ', '),
        '; nothing is staged: make `sequence_by` unique, or set the option `ties` to hash'
    ))
    {%- endif %}
    {%- if options.errors == 'fail' %}
    when _step_counts.error_inserts > 0 then raise_error(concat(
        'errors: ', _step_counts.error_inserts, ' commands of the batch are errors (',
        array_join(sort_array(_step_counts.error_kinds), ', '), '), such as ', _step_counts.error_sample,
        '; nothing is staged: correct the log, or set the option `errors` to keep'
    ))
    {%- endif %}
    else 'progress'
end
{%- endmacro %}


{#- The statistics of the progress row, without its seal. The source has the counts. -#}
{% macro _staged_statistics_expr(options, plan) -%}
    {%- set is_newest = options.late == 'newest' -%}
    {%- set records_added = '_step_counts.inserts - _step_counts.deletes + _step_counts.error_inserts'
        ~ ' - _step_counts.error_retractions' -%}
named_struct(
    'messages_received', _step_counts.messages_received{{ ' + superseded' if is_newest }},
    'commands_read', {{ plan }}.commands_read,
    'commands_settled',
    {{ plan }}.commands_settled + _step_counts.messages_received{{ ' + superseded' if is_newest }},
    'updates_staged',
    {% if options.eager -%}
    updates_staged
    {%- else -%}
    _step_counts.retractions + _step_counts.inserts + _step_counts.updates + _step_counts.error_inserts
    + _step_counts.error_retractions
    {%- endif %},
    'inserts', _step_counts.inserts,
    'updates', _step_counts.updates,
    'deletes', _step_counts.deletes,
    'retractions', _step_counts.retractions,
    'error_inserts', _step_counts.error_inserts,
    'error_retractions', _step_counts.error_retractions,
    'late_dropped', {{ plan }}.late_dropped,
    'superseded', {% if is_newest -%}
    -- In a log without ticks (`reclock`) a late command is an offset that came twice.
    superseded + case
        when {{ plan }}.partitions is not null then 0
        when {{ plan }}.late_dropped is not null
            then greatest({{ plan }}.late_dropped - _step_counts.late_taken, 0)
    end
    {%- else %}cast(null as bigint){% endif %},
    'tombstones', {% if is_newest -%}
    {{ plan }}.tombstones + orders_added - ({{ records_added }})
    {%- else %}cast(null as bigint){% endif %},
    'orders_staged', {{ 'orders_staged' if is_newest else 'cast(null as bigint)' }},
    'ties', _step_counts.ties,
    'tie_samples', {{ trueup._tie_samples_expr() }},
    'order_pairs', _step_counts.order_pairs,
    'order_inversions', _step_counts.order_inversions,
    'corrections', _step_counts.corrections,
    'records_indexed',
    {{ plan }}.records_indexed + {{ 'records_staged' if options.eager else records_added }},
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
)
{%- endmacro %}
