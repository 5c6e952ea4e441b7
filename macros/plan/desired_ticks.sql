{#-
    The ticks of a collection by a select. The current result of the select is written at the last tick
    before the upper. The upper is the least upper of the collections in the option `of`, read before the
    select. Without `of` it is the start of the run in milliseconds.

    If `<collection>_desired`, or a model between it and the inputs, is a table, the run that makes it must also
    compare it. Another run would find rows of an older upper. So it settles nothing, and writes what it finds at
    the open tick.

    The corrections are compared at one time, and the batch takes them in at another time, maybe in another
    run. So the table of the corrections keeps the upper that they belong to.
-#}

{#-
    The upper of the batch: that of the comparison of `corrections`, or without one that of a new
    comparison.
-#}
{% macro _get_upper_expr(collection, corrections) -%}
    {{ return(
        trueup._get_compared_upper_expr(corrections) if corrections
        else trueup._get_desired_upper_expr(collection.name, collection.options)
    ) }}
{%- endmacro %}


{#- The upper of a comparison that is made now, as an SQL expression. -#}
{% macro _get_desired_upper_expr(name, options) -%}
    {%- if not options.of -%}
        {{ return(trueup._milliseconds(run_started_at)) }}
    {%- elif trueup._get_is_desired_older(name, options.of) -%}
        {{ return('cast(null as bigint)') }}
    {%- endif -%}
    {%- set states = [] -%}
    {%- for collection in options.of -%}
        {%- set state = trueup._get_input_state(collection) -%}
        {%- do trueup._require_made(collection, state, by='state') -%}
        {%- do states.append(state) -%}
    {%- endfor -%}
    {{ return(trueup._least_upper_expr(states)) }}
{%- endmacro %}


{#-
    Whether the desired rows may be those of an earlier run: they come from a table that this run does not make.
    The inputs themselves do not count.
-#}
{% macro _get_is_desired_older(name, inputs) -%}
    {%- set desired = trueup._model_id(name ~ '_desired') -%}
    {%- set paths = [(desired, false)] -%}
    {%- for input in inputs -%}
        {%- do trueup._get_reads(desired, trueup._model_id(input), false, paths) -%}
    {%- endfor -%}
    {%- for id, _ in paths if id in graph.nodes and id not in selected_resources -%}
        {%- set of_inputs = [] -%}
        {%- for input in inputs if trueup._is_node_of(id, trueup._model_id(input)) -%}
            {%- do of_inputs.append(input) -%}
        {%- endfor -%}
        {%- if not of_inputs and graph.nodes[id].config.materialized not in ['view', 'ephemeral', 'seed'] -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{%- endmacro %}


{#- The least upper of states, as an SQL expression. -#}
{% macro _least_upper_expr(states) -%}
    {%- set uppers = [] -%}
    {%- for state in states -%}
        {%- do uppers.append(
            'select coalesce(max(_upper), 0) as upper from ' ~ state ~ " where _kind = 'progress'"
        ) -%}
    {%- endfor -%}
(select min(upper) from ({{ uppers | join(' union all ') }}))
{%- endmacro %}


{#- The upper of the comparison that made the corrections; null if the comparison is void. -#}
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
    The plan with the tick at which a comparison writes, and with the upper of its batch, as another dict.
    If no tick has passed since the last batch, the batch writes into the open tick and settles nothing.
-#}
{% macro _with_tick(plan, options) -%}
    {%- if options.refresh is not none -%}
        {{ return(trueup._with_schedule(plan, trueup._schedule(options.refresh))) }}
    {%- elif plan.upper > plan.lower -%}
        {{ return(dict(plan, tick=plan.upper - 1)) }}
    {%- endif -%}
    {{ return(plan) }}
{%- endmacro %}
