{#- What the changelog says about one key, for `explain`. -#}

{#-
    CTEs of the batches, and of where the collection stands, one row.

    Reads: the changelog, the state. Ends with: `frontier`.
-#}
{% macro _explained_frontier_ctes(collection) -%}
batches as (

    select
        _seq,
        _lower,
        _upper,
        _statistics.since as _since,
        _statistics.committed_at as _committed_at
    from {{ collection.changelog }}
    where _kind = 'progress'

),

frontier as (

    select
        coalesce(max(_seq), 0) as _last_seq,
        max_by(_upper, _seq) as _upper,
        max(_since) as _since,
        coalesce({{ trueup._last_seq_expr(collection.state) }}, 0)
            as _applied_seq,
        rand() as _step_token
    from batches

)
{%- endmacro %}


{#-
    CTEs of the updates of the key, and of its settled changes: one row for each tick after which the key has
    another value, with the value `_held` from then on. `_cause` is null if a command of the tick made the
    change. Updates of open ticks (option `eager`) are no settled changes.

    Reads: the changelog, `frontier`. Ends with: `last_change`.
-#}
{% macro _explained_updates_ctes(collection, values, is_identity) -%}
updates as (

    select
        _ts,
        _diff,
        _cause,
        _seq,
        struct({{ trueup._column_list(values + ['_error']) }}) as _value,
        rand() as _step_token
    from {{ collection.changelog }}
    where _kind = 'update' and {{ is_identity }}

),

settled_updates as (

    select updates.*
    from updates
    cross join frontier
    {%- if not collection.is_by_select %}
    where updates._ts < frontier._upper or updates._cause is not null
    {%- endif %}

),

net_updates as (

    select _ts, _cause, _value, sum(_diff) as _diff, max(_seq) as _seq
    from settled_updates
    group by _ts, _cause, _value
    having sum(_diff) <> 0

),

net_changes as (

    select
        _ts,
        _value,
        sum(_diff) as _diff,
        max(_seq) as _seq,
        any_value(_cause) filter (where _cause is not null) as _cause,
        count_if(_cause is null) as _own_count
    from net_updates
    group by _ts, _value

),

changes as (

    select
        _ts,
        struct(any_value(_value) filter (where _diff > 0) as _value) as _held,
        if(sum(_own_count) > 0, null, any_value(_cause) filter (where _cause is not null)) as _cause,
        max(_seq) as _seq
    from net_changes
    group by _ts
    having count_if(_diff <> 0) > 0

),

-- One row, also for a key that has never changed.
last_change as (

    select
        max(_ts) as _ts,
        max_by(_held, _ts) as _held,
        max_by(_cause, _ts) as _cause,
        max_by(_seq, _ts) as _seq,
        min(_ts) as _first_ts
    from changes

)
{%- endmacro %}
