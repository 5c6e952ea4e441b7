{#-
    The ticks of a collection by a select. What the select says now is written at the last tick
    before the upper: the least upper of the collections in the option `of`, read before the select,
    or else the start of the run in milliseconds.

    The corrections are compared at one time and taken in by the batch at another, maybe in another
    run. So the table of the corrections keeps the upper that they belong to.
-#}

{#- How far the batch goes: the comparison of `corrections`, or with none the one to be made. -#}
{% macro _get_upper_expr(corrections, options) -%}
    {{ return(
        trueup._get_compared_upper_expr(corrections) if corrections
        else trueup._get_desired_upper_expr(options)
    ) }}
{%- endmacro %}


{#- How far a comparison that is made now goes, as an SQL expression. -#}
{% macro _get_desired_upper_expr(options) -%}
    {%- if not options.of -%}
        {{ return(trueup._milliseconds(run_started_at)) }}
    {%- endif -%}
    {%- set uppers = [] -%}
    {%- for collection in options.of -%}
        {%- set state = trueup._get_input_state(collection) -%}
        {%- do trueup._require_made(collection, state, by='state') -%}
        {%- do uppers.append(
            'select coalesce(max(_upper), 0) as upper from ' ~ state ~ " where _kind = 'progress'"
        ) -%}
    {%- endfor -%}
(select min(upper) from ({{ uppers | join(' union all ') }}))
{%- endmacro %}


{#- How far the comparison goes that the corrections were made by; null where it is void. -#}
{% macro _get_compared_upper_expr(corrections) -%}
    {%- set found = trueup._get_comparison(corrections) -%}
    {%- if 'trueup.upper' not in found -%}
        {{ return('cast(null as bigint)') }}
    {%- endif -%}
case
            when coalesce(last_batch_id, '') = {{ trueup._literal(found['trueup.after_batch_id']) }}
                then try_cast({{ trueup._literal(found['trueup.upper']) }} as bigint)
        end
{%- endmacro %}


{#-
    The plan with the tick that a comparison writes at, and where its batch ends, as another dict. With no
    tick since the last batch it writes into the open one, and settles nothing.
-#}
{% macro _with_tick(plan, options) -%}
    {%- if options.refresh is not none -%}
        {{ return(trueup._scheduled_plan(plan, trueup._schedule(options.refresh))) }}
    {%- elif plan.upper > plan.lower -%}
        {{ return(dict(plan, tick=plan.upper - 1)) }}
    {%- endif -%}
    {{ return(plan) }}
{%- endmacro %}
