{#-
    Fails on each row that only one side holds, counted with multiplicity. One side is the consolidated
    changelog: the sum of the diffs of equal rows, without zeros. The other side is the state. `_diff` is
    above 0 for rows of the changelog, below 0 for rows of the state. A row of the state with the `_kind` of
    another sort of row counts twice, so it is always found: the view shows only rows of the kind `row`.
-#}
{% test consolidates_to_state(model, state) %}
    {%- do trueup._require_whole_table('consolidates_to_state') -%}
with

consolidated as (

    select {{ trueup._all_but_list(trueup._update_columns()) }}, _diff
    from {{ model }}
    where {{ trueup._is_content_expr() }}

),

shape as (

    select * except (_diff) from consolidated where false

),

persisted as (

    select
        {{ trueup._all_but_list(trueup._state_columns()) }},
        if({{ trueup._is_of_its_kind_expr() }}, -1, -2) as _diff
    from {{ state }}
    where not (_kind <=> 'progress')

),

-- A rebuilt state may have a newer column at another position. This join matches nothing. It only gives the
-- columns in the order of the changelog.
both_sides as (

    select * from consolidated
    union all
    select *
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
