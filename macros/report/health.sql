{#- Whether each collection runs well. If not: the error, and what to do. -#}

{#-
    One row for each collection. `changelogs`, `batches` and `states` are tables by collection, `lag` and `runs`
    the models `trueup_lag` and `trueup_runs`.

    Rule: the first status that is true counts, in this order: stalled by `max_retractions`, failed, paused,
    created, stalled, running.
-#}
{% macro _health_select(changelogs, batches, states, lag, runs) -%}
with

{{ trueup._listed_ctes(changelogs) }},

-- The states are read before the changelogs: so a run between the two reads never looks like lost batches.
{{ trueup._state_facts_ctes(states) }},

progress as (

    {{ trueup._progress_rows_select(changelogs) | indent }}

),

staged as (

    {{ trueup._progress_rows_select(batches) | indent }}

),

{{ trueup._failures_ctes(runs, changelogs) }},

committed as (

    select collection, max(_seq) as batch from progress group by collection

),

facts as (

    select
        listed.collection,
        lag.* except (collection),
        coalesce(committed.batch, 0) as batch,
        coalesce(committed.batch, 0) - coalesce(state_facts.applied_batch, 0) as batches_to_apply,
        coalesce(state_facts.open_errors, 0) as open_errors,
        failures.model,
        failures.error,
        failures.failed_since,
        coalesce(staged._statistics.read_only, false) as _is_dry_run,
        lag.seconds_since_commit > {{ trueup._var('trueup_stalled_after') }} as _is_old,
        -- A SELECT has no commands; it waits if the collections that it reads are ahead.
        coalesce(lag.commands_to_settle > 0, lag.ticks_behind > 0, false) as _has_input
    from listed
    left join {{ lag }} as lag on listed.collection = lag.collection
    left join committed on listed.collection = committed.collection
    left join state_facts on listed.collection = state_facts.collection
    left join failures on listed.collection = failures.collection
    left join staged
        on listed.collection = staged.collection
        and staged._seq > coalesce(committed.batch, 0)

),

judged as (

    select
        *,
        case
            when contains(error, {{ trueup._literal(trueup._max_retractions_text()) }}) then 'stalled'
            when error is not null then 'failed'
            when _is_dry_run then 'paused'
            when batch = 0 then 'created'
            when _has_input and _is_old then 'stalled'
            else 'running'
        end as status
    from facts

)

select
    collection,
    status,
    error,
    {{ trueup._hint_expr() }} as hint,
    failed_since,
    committed_at,
    frontier,
    ticks_behind,
    commands_to_settle,
    batches_to_apply,
    open_errors
from judged
{%- endmacro %}


{#- What to do about a status, as an SQL expression; null if there is nothing to do. -#}
{% macro _hint_expr() -%}
case
        when status = 'stalled' and error is not null
            then 'Look at the staged batch. The last line of the error shows how to approve it.'
        when status = 'failed' then concat(
            'Repair the cause of the error, then run the model again: dbt run -s ',
            -- A batch may ask for the corrections before it.
            regexp_replace(model, '_batch$', '_corrections'), '+'
        )
        when status = 'paused'
            then 'The last run was a dry run. A run without the var trueup_read_only appends the batch.'
        when status = 'created' then 'No run has written a batch yet. Run the collection.'
        when status = 'stalled' then concat(
            'The input is ahead, but no batch was committed for ', seconds_since_commit,
            ' seconds. Check that the job that runs dbt is alive. If the log was quiet until now, the next run'
            ' settles it.'
        )
        when batches_to_apply > 0 then 'The next run applies the batch to the state.'
        when batches_to_apply < 0
            then 'The state has applied batches that the changelog does not have. They are lost: call trueup.doctor.'
    end
{%- endmacro %}


{#-
    The CTE `state_facts`: the last batch that each state has, and its open errors. `states` are tables by
    collection.

    Reads: the states. Ends with: `state_facts`.
-#}
{% macro _state_facts_ctes(states) -%}
state_facts as (
    {% for collection, state in states.items() %}
    select
        {{ trueup._literal(collection) }} as collection,
        max(case when _kind = 'progress' then _seq end) as applied_batch,
        count(case when _kind = 'error' then 1 end) as open_errors
    from {{ state }}
    where _kind in ('progress', 'error')
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
)
{%- endmacro %}


{#-
    The CTE `failures`: for each collection the first of its models whose last run failed. Nobody can clear the
    failure of a model that the project no longer has, so it does not count.

    Reads: the relation `runs`. Ends with: `failures`.
-#}
{% macro _failures_ctes(runs, collections) -%}
    {%- set models = [] -%}
    {%- for name in collections if execute -%}
        {%- for role in trueup._recorded_roles() if trueup._enabled_models(name ~ '_' ~ role) -%}
            {%- do models.append(name ~ '_' ~ role) -%}
        {%- endfor -%}
    {%- endfor -%}
last_outcomes as (

    {{ trueup._last_outcomes_select(runs) | indent }}

),

failures as (

    select
        collection,
        min_by(model, struct(is_not_stalled, recorded_at, place)) as model,
        min_by(error, struct(is_not_stalled, recorded_at, place)) as error,
        min(failed_since) as failed_since
    from (
        -- A batch that waits for an approval counts before an older failure, as among the statuses.
        select *, not contains(error, {{ trueup._literal(trueup._max_retractions_text()) }}) as is_not_stalled
        from last_outcomes
    ) as outcomes
    where
        outcome = 'failed'
        {%- if models %}
        and model in ({{ trueup._literal_list(models) }})
        {%- endif %}
    group by collection

)
{%- endmacro %}
