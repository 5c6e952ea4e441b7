{#-
    CTEs that turn the folded ticks into updates: a retraction of the value before, where there
    was one, and an addition of the value after, where there is one.
-#}
{% macro emit_updates(identity) -%}
steps_taken as (

    select * from folded where _step > 0

),

-- Rule: a value equal to the one before emits nothing; deleting an absent key emits nothing.
changes as (

    select * from steps_taken where not (_value <=> _prior)

),

updates as (

    select
        {{ trueup._column_list(identity[:-1]) }},
        inlined._value,
        _error_key,
        _ts,
        inlined._diff,
        cast(null as string) as _cause,
        'update' as _kind,
        cast(null as {{ trueup._statistics_type() }}) as _statistics
    from changes
    lateral view inline(
        filter(
            array(
                named_struct('_diff', -1, '_value', _prior),
                named_struct('_diff', 1, '_value', _value)
            ),
            side -> side._value is not null
        )
    ) inlined as _diff, _value

)
{%- endmacro %}
