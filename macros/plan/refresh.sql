{#-
    The first refresh at or after a tick; none if there is none. Never above the `greatest` tick, by default the
    greatest bigint.
-#}
{% macro _next_refresh(schedule, tick, greatest=none) -%}
    {%- set greatest = trueup._greatest_bigint() if greatest is none else greatest -%}
    {%- set points = schedule.at | select('>=', tick) | list -%}
    {%- for each in schedule.every -%}
        {%- set since = (tick - each.aligned_to) % each.interval -%}
        {%- set point = tick if since == 0 else tick - since + each.interval -%}
        {%- do points.append(point if point < greatest else greatest) -%}
    {%- endfor -%}
    {{ return((points | min) if points else none) }}
{%- endmacro %}


{#- The last refresh before a tick; none if there is none. A refresh of `every` is never below 0. -#}
{% macro _last_refresh_before(schedule, tick) -%}
    {%- set points = schedule.at | select('<', tick) | list -%}
    {%- for each in schedule.every -%}
        {%- set point = tick - 1 - (tick - 1 - each.aligned_to) % each.interval -%}
        {%- do points.append(point if point > 0 else 0) -%}
    {%- endfor -%}
    {{ return((points | max) if points else none) }}
{%- endmacro %}


{#- The last refresh of the schedule; none if the schedule has no end. -#}
{% macro _last_refresh(schedule) -%}
    {{ return(none if schedule.every else schedule.at | max) }}
{%- endmacro %}


{#-
    The plan with its upper and its tick by the schedule, as another dict. The result of the comparison is
    written at the last refresh before `upper`. It stays unchanged until the next refresh. If there was no
    refresh since the lower, no update is due, and `reason` says until when. After the last refresh the
    collection is final.
-#}
{% macro _with_schedule(plan, schedule) -%}
    {%- set tick = trueup._last_refresh_before(schedule, plan.upper) -%}
    {%- set next = trueup._next_refresh(schedule, plan.upper) -%}
    {#- The schedule may have no refresh at 0, so check the rounded tick. -#}
    {%- set is_one = tick is not none and trueup._next_refresh(schedule, tick) == tick -%}
    {%- if not is_one or tick < plan.lower or tick >= plan.upper -%}
        {{ return(dict(
            plan,
            upper=plan.lower,
            reason='final since ' ~ trueup._last_refresh(schedule) if next is none
                else 'the next refresh is at ' ~ next
        )) }}
    {%- endif -%}
    {{ return(dict(plan, tick=tick, upper=tick + 1 if next is none else next)) }}
{%- endmacro %}
