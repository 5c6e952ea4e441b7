{#-
    Fails on each row, counted with multiplicity, that only one side holds: the consolidated
    changelog (the sum of the diffs of equal rows, without zeros; `_diff` is above 0) or the state
    (below 0).
-#}
{% test consolidates_to_state(model, state) %}
with

consolidated as (

    select {{ trueup._all_but(trueup._update_columns()) }}, _diff
    from {{ model }}
    where _kind = 'update'

),

persisted as (

    select {{ trueup._all_but(trueup._state_columns()) }}, -1 as _diff
    from {{ state }}
    where _kind <> 'progress'

),

-- By name: a column that came later stands elsewhere in a state that was made anew.
both_sides as (

    select * from consolidated
    union all by name
    select * from persisted

),

final as (

    select * except (_diff), sum(_diff) as _diff
    from both_sides
    group by all
    having sum(_diff) <> 0

)

select * from final
{% endtest %}
