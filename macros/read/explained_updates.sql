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


{#-
    CTEs that compare what the log (or the SELECT), the changelog and the state have for the key. Each of
    `desired_rows`, `changelog_rows` and `state_rows` is one row. `_rows` are the values, a sorted array.

    Reads: `explained`, `updates`, `last_change`, `frontier`, the state. Ends with: `state_rows`.
-#}
{% macro _compared_rows_ctes(collection, values, is_identity) -%}
desired_rows as (

    select
        sort_array(array_compact(collect_list(_value))) as _rows,
        max(_ts) as _ts
    from {{ trueup._subquery(trueup._desired_value_select(collection, values)) }}
    where {{ is_identity }}

),

live_updates as (

    select
        updates._value,
        sum(updates._diff) as _diff,
        coalesce(sum(updates._diff) filter (where updates._seq <= frontier._applied_seq), 0)
            as _applied_diff
    from updates
    cross join frontier
    group by updates._value

),

changelog_rows as (

    select
        sort_array(array_compact(collect_list(if(_diff > 0, _value, null)))) as _rows,
        sort_array(array_compact(collect_list(if(_applied_diff > 0, _value, null)))) as _applied_rows,
        coalesce(count_if(_diff not in (0, 1)) = 0 and count_if(_diff > 0) < 2, true) as _is_sound
    from live_updates

),

state_rows as (

    select
        sort_array(array_compact(collect_list(struct({{ trueup._column_list(values + ['_error']) }}))))
            as _rows,
        coalesce(every({{ trueup._is_of_its_kind_expr() }}), true) as _is_of_its_kind,
        max(_ts) as _ts,
        max(_seq) as _seq
    from {{ collection.state }}
    where not (_kind <=> 'progress') and {{ is_identity }}

)
{%- endmacro %}


{#-
    The value that the settled commands of the log, or the rows of the SELECT, give to each key, as a select.
    It is the fold of the package, from nothing. Where values move from key to key, the commands of all keys
    are folded.

    It reads `explained` and `frontier`.
-#}
{% macro _desired_value_select(collection, values) -%}
    {%- if collection.is_by_select -%}
        {{ return('select * from explained') }}
    {%- endif -%}
    {%- set changes_keys = trueup._has_carried_values(collection.extras) -%}
    {%- set given = trueup._subquery(trueup._explained_input_select(collection))
        if changes_keys else 'explained' -%}
    {%- set settled -%}
select *
from {{ given }}
where _ts >= {{ trueup._first_tick_expr(collection.options) }} and _ts < (select _upper from frontier)
    {%- endset -%}
    {%- set steps = trueup._steps_select(
        collection, trueup._subquery(settled), none, values, has_truncates=true
    ) -%}
    {{ return(trueup._last_values_select(collection, trueup._resolved_steps_select(collection, steps, values))) }}
{%- endmacro %}
