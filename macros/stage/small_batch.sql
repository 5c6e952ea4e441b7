{#-
    The staged batch of few commands, as a select with the rows of `_batch_select`. One task folds the whole batch,
    so Spark shuffles once, and reads each step once: three jobs instead of ten.

    Beside the steps, the task gets notes, which `_batch_select` would join: steps with an identity that no
    command has. So a batch without steps has its progress row, too. What `_batch_select` sums up with aggregates,
    this select sums up with windows over all rows.
-#}
{% macro _small_batch_select(collection) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set identity, options = collection.identity, collection.options -%}
    {%- set columns = trueup._column_list(identity) -%}
    {%- set plan = '_step_plan' -%}
with

steps as (

    select /*+ repartition(1) */ *
    from {{ trueup._subquery(trueup._steps_and_notes_select(collection)) }} as steps_and_notes

),

{{ trueup._folded_ticks_ctes(identity, trueup._sequence_terms(options)) }},

transitions as (

    select {{ trueup._transition_list(identity) }}
    from folded
    where _step > {{ step.prior }}

),

counted as (

    select
        {{ columns }},
        _step,
        _ts,
        _cause,
        _is_change,
        _prior,
        _prior_digest,
        _value as _next_value,
        _digest as _next_digest,
        _certificate_entry,
        {{ trueup._step_counts_expr(identity, options, over=' over ()') }} as _step_counts,
        max(case when _step = {{ step.applied_note }} then _ts end) over () as _applied_seq,
        -- The row of the progress has the whole plan. Each row needs only its batch.
        _step_plan,
        first(
            case
                when _step = {{ step.progress_note }}
                    then struct(_step_plan.seq, _step_plan.lower, _step_plan.upper, _step_plan.batch_id)
            end,
            true
        ) over () as _step_batch
    from transitions

),

-- The two sides of a change are updates, as in `_updates_ctes`. Each note has one entry.
entries as (

    select
        {{ columns }},
        _ts,
        _cause,
        _step_counts,
        _applied_seq,
        _step_plan,
        _step_batch,
        _certificate_entry,
        inlined.*
    from counted
    lateral view inline(
        filter(
            array(
                named_struct('_kind', 'update', '_diff', -1, '_value', _prior, '_digest', _prior_digest),
                named_struct('_kind', 'update', '_diff', 1, '_value', _next_value, '_digest', _next_digest),
                named_struct(
                    '_kind', if(_step = {{ step.progress_note }}, 'progress', 'note'),
                    '_diff', null, '_value', null, '_digest', null
                )
            ),
            side -> if(_step > {{ step.command }}, side._kind <> 'update', _is_change and side._value is not null)
        )
    ) inlined as _kind, _diff, _value, _digest

),

{{ trueup._certified_entries_ctes() }},

progress_and_updates as (

    select
        * except (_certificate, _kind),
        if(
            _kind = 'update',
            _kind,
            {{ trueup._progress_kind_expr(options, plan) | indent(12) }}
        ) as _kind,
        case when _kind = 'progress' then _certificate end as _certificate,
        case
            when _kind = 'progress'
                then {{ trueup._staged_statistics_expr(options, plan) | indent(16) }}
        end as _statistics
    from certified
    where _kind in ('update', 'progress')

)

select
    {{ trueup._column_list(identity[:-1]) }},
    _value.*,
    case when _kind = 'update' then _error_key end as _error_key,
    _ts,
    _diff,
    _cause,
    _kind,
    _step_batch.seq as _seq,
    _step_batch.lower as _lower,
    _step_batch.upper as _upper,
    _step_batch.batch_id as _batch_id,
    case
        when _kind = 'progress' then struct(_statistics.*, {{ trueup._staged_seal_expr(plan) }} as seal)
    end as _statistics,
    _certificate
from progress_and_updates
{%- endmacro %}
