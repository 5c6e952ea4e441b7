{#- What the log or the SELECT, the changelog and the state have for one key, for `explain`. -#}

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
