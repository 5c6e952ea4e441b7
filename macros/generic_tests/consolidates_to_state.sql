{#-
    Fails on each row, counted with multiplicity, that only one side holds: the consolidated
    changelog (the sum of the diffs of equal rows, without zeros) or the state.
-#}
{% test consolidates_to_state(model, state) %}
with

consolidated as (

    select
        {{ trueup._all_but(trueup._update_columns()) }},
        sum(_diff) as _diff
    from {{ model }}
    where _kind = 'update'
    group by all
    having sum(_diff) <> 0

),

persisted as (

    select
        {{ trueup._all_but(trueup._state_columns()) }},
        count(*) as _diff
    from {{ state }}
    where _kind <> 'progress'
    group by all

),

only_in_changelog as (

    select * from consolidated
    except all
    select * from persisted

),

only_in_state as (

    select * from persisted
    except all
    select * from consolidated

),

final as (

    select 'only in the changelog' as _kind, * from only_in_changelog
    union all
    select 'only in the state' as _kind, * from only_in_state

)

select * from final
{% endtest %}
