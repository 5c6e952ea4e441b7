{#-
    Fails on each row, counted with multiplicity, that only one side holds: the consolidated
    changelog (the sum of the diffs of equal rows, without zeros; `_diff` is above 0) or the state
    (below 0).
-#}
{% test consolidates_to_state(model, state) %}
with

consolidated as (

    select {{ trueup._all_but_list(trueup._update_columns()) }}, _diff
    from {{ model }}
    where _kind = 'update'

),

shape as (

    select * except (_diff) from consolidated where false

),

persisted as (

    select {{ trueup._all_but_list(trueup._state_columns()) }}
    from {{ state }}
    where _kind <> 'progress'

),

-- A column that came later stands elsewhere in a state that was rebuilt; this join, which matches
-- nothing, has the columns in the changelog's order.
both_sides as (

    select * from consolidated
    union all
    select *, -1 as _diff
    from shape natural right join persisted -- noqa: CV08

),

final as (

    select * except (_diff), sum(_diff) as _diff
    from both_sides
    group by all
    having sum(_diff) <> 0

)

select * from final
{% endtest %}
