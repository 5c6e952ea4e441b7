{#-
    Compares what is persisted with what it should be, before the batch is minted. With another
    option than `late: correct` there is nothing to compare with: the commands that came late are
    part of the log, but not of the collection.
-#}
{% materialization trueup_corrections, adapter='spark' %}
    {%- set options = trueup._options() -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set collection = trueup._collection_of('corrections') -%}

    {{ run_hooks(pre_hooks) }}

    {%- if should_full_refresh() and trueup._var('trueup_rebase') -%}
        {%- do trueup._no_op('a rebase begins again, nothing is corrected') -%}
    {%- elif options.late != 'correct' and options.verify == 'never' -%}
        {%- do trueup._no_op('late: ' ~ options.late ~ ', verify: never') -%}
    {%- else -%}
        {%- set shard = trueup.prepare_shard(
            collection, 'corrections', options, heals=options.verify != 'never'
        ) -%}
        {%- set columns = trueup.follow_columns(shard, options) -%}
        {%- set healed = trueup.verify_and_heal(shard, columns, target_relation, options) -%}
        {%- if options.late == 'correct' -%}
            {%- do run_query(trueup.declare_frontier_sql(collection, shard.frontier)) -%}
            {%- do trueup.create_persisted_view(
                collection, shard, trueup._value_names(columns, shard.unique_key), options
            ) -%}
            {%- do trueup.create_history_view(collection, shard, columns, options) -%}
            {%- call statement('main') -%}
                {%- if healed -%}
insert into {{ target_relation }} by name {{ compiled_code }}
                {%- else -%}
{{ trueup.create_table_sql(target_relation, compiled_code, replace=true) }}
                {%- endif -%}
            {%- endcall -%}
            {%- do trueup.drop_kept_steps(shard.extras) -%}
        {%- else -%}
            {%- do trueup._no_op('nothing to correct') -%}
        {%- endif -%}
        {%- if healed or options.late == 'correct' -%}
            {%- do trueup._report(trueup.get_correction_report(target_relation, healed)) -%}
            {%- do trueup._finish(target_relation) -%}
        {%- endif -%}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#- How many corrections there are, by cause, and what was `healed`, for dbt's line of the model. -#}
{% macro get_correction_report(corrections, healed=none) -%}
    {%- set counts = [] -%}
    {%- set query = 'select _cause, count(*) from ' ~ corrections ~ ' group by _cause order by _cause' -%}
    {%- for row in run_query(query) -%}
        {%- do counts.append(row[1] ~ ' ' ~ row[0]) -%}
    {%- endfor -%}
    {%- set report = 'corrections: ' ~ (counts | join(', ') or 'none') -%}
    {{ return(report ~ ('; ' ~ healed if healed else '')) }}
{%- endmacro %}
