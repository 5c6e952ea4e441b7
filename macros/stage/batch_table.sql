{#-
    Replaces the table of the staged batch. Returns whether it was folded natively, because the session has no
    Python aggregates.
-#}
{% macro _ensure_batch_table(collection, plan, select, takes_corrections) -%}
    {%- set plan = trueup._with_first_snapshot(collection, plan) -%}
    {%- do trueup._ensure_plan_variable(collection.name, plan) -%}
    {%- set cannot_fold = trueup._get_lacks_aggregates(collection, plan) -%}
    {%- if trueup._is_folded_by_udaf(collection.options) and (cannot_fold or plan.open_upper == plan.upper) -%}
        {#- Without open ticks there is nothing to fold in Python. -#}
        {%- set collection = dict(collection, options=dict(collection.options, fold='native')) -%}
        {%- set select = none -%}
    {%- endif -%}
    {%- set select = trueup._select_of_batch(collection, plan, select) -%}
    {%- do trueup._ensure_batch_views(collection, plan, takes_corrections) -%}
    {%- do run_query(trueup._create_table_sql(
        collection.batch, select, replace=true,
        own_properties=trueup._batch_properties(trueup._folded_count(plan))
    )) -%}
    {%- do trueup._ensure_no_step_tables(collection.extras) -%}
    {{ return(cannot_fold) }}
{%- endmacro %}


{#- Whether open ticks are to be folded by a Python aggregate that the session does not have. -#}
{% macro _get_lacks_aggregates(collection, plan) -%}
    {{ return(
        plan.open_upper > plan.upper and trueup._is_folded_by_udaf(collection.options)
        and not trueup._get_has_aggregate('trueup_provisional')
    ) }}
{%- endmacro %}
