{#-
    The collection as it was at the end of the tick `ts`, as a select of its key and value columns. It is
    the changelog up to that tick, consolidated. `ts` is an integer or an SQL expression.
-#}
{% macro as_of(collection, ts) -%}
    {%- if collection is not string -%}
        {{ return(trueup._rows_of_store_between(collection, ts)) }}
    {%- endif -%}
    {%- set last = trueup._known_tick_expr(collection, ts) -%}
with

{{ trueup._consolidated_ticks_ctes(collection, '_ts <= ' ~ last, last, last) }}

select * except (_diff)
from consolidated
where _diff > 0
{%- endmacro %}


{#-
    The changes after the tick `from_ts`, up to the end of the tick `to_ts`, as a select of the key and
    value columns and `_diff`. `as_of(from_ts)` plus these changes is `as_of(to_ts)`.
-#}
{% macro changes_between(collection, from_ts, to_ts) -%}
    {%- if collection is not string -%}
        {{ return(trueup._rows_of_store_between(collection, to_ts, from_ts)) }}
    {%- endif -%}
    {%- set first = trueup._known_tick_expr(collection, from_ts) -%}
    {%- set last = trueup._known_tick_expr(collection, to_ts) -%}
with

{{ trueup._consolidated_ticks_ctes(
    collection, '_ts > ' ~ first ~ ' and _ts <= ' ~ last, first, last
) }}

select *
from consolidated
where _diff <> 0
{%- endmacro %}


{#-
    The CTE `consolidated`: each row of the updates that meet `condition`, once, with the sum of its diffs.
    The first and the last tick must be readable.

    Reads: the changelog. Ends with: `consolidated`.
-#}
{% macro _consolidated_ticks_ctes(collection, condition, first_ts, last_ts) -%}
consolidated as (

    select
        {{ trueup._all_but_list(['_error', '_error_key'] + trueup._update_columns()) }},
        sum(_diff) as _diff
    from {{ ref(collection ~ '_changelog') }}
    where
        _kind = 'update'
        and _error is null
        and {{ condition }}
        and {{ trueup._is_readable_expr(collection, first_ts, last_ts) }}
    group by all

)
{%- endmacro %}


{#-
    A given tick as a bigint, as an SQL expression. It raises when the query runs if the tick is null, or neither an
    integer nor a timestamp. Spark takes a comparison with a constant null, or with a text that is no number, for false.
    Then it would leave out the check of `_is_readable_expr`, too.
-#}
{% macro _known_tick_expr(collection, ts) -%}
case
        when ({{ ts }}) is null then raise_error({{ trueup._literal(
            'a tick of ' ~ collection ~ ' must not be null: give an integer below its upper'
        ) }})
        else {{ trueup._tick_expr('(' ~ ts ~ ')', 'A tick of ' ~ collection) }}
    end
{%- endmacro %}


{#-
    True, or raises when the query runs: if the first tick is after the last one, if a
    compaction has moved `since` above the first tick, or if the last tick is at or above the changelog's upper.
    It is a scalar subquery, so no filter around the select can remove the check.
-#}
{% macro _is_readable_expr(collection, first_ts, last_ts) -%}
(
        select case
            when ({{ first_ts }}) > ({{ last_ts }}) then raise_error(concat(
                'the first tick, ', {{ first_ts }}, ', must not be after the second, ', {{ last_ts }}, ': swap them'
            ))
            when max(_statistics.since) > ({{ first_ts }}) then raise_error(concat(
                'tick ', {{ first_ts }}, ' can no longer be read: {{ collection }} was compacted up'
                ' to ', max(_statistics.since), '; read that tick or a later one'
            ))
            when max(_upper) > ({{ last_ts }}) then true
            else raise_error(concat(
                'tick ', {{ last_ts }}, ' is not settled yet: the upper of'
                ' {{ collection }} is ', coalesce(cast(max(_upper) as string), 'none'), '; read a tick below it'
            ))
        end
        from {{ ref(collection ~ '_changelog') }}
        where _kind = 'progress'
    )
{%- endmacro %}
