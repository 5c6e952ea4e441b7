{#-
    Compares what is persisted with what it should be, before the batch is minted. With commands and
    another option than `late: correct` there is nothing to compare with: those that came late are
    part of the log, but not of the collection.
-#}
{% materialization trueup_corrections, adapter='spark' %}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set collection = trueup._collection_of('corrections') -%}
    {%- set options = trueup._options(collection) -%}
    {%- set is_by_select = trueup._is_by_select(collection) -%}
    {%- do trueup._require_not_deferred(collection, [trueup._source_role(collection)]) -%}
    {%- set is_rebase = should_full_refresh() and trueup._var('trueup_rebase') -%}
    {%- if is_rebase and is_by_select -%}
        {%- do trueup._require_whole_rebase(collection) -%}
    {%- endif -%}

    {{ run_hooks(pre_hooks) }}

    {%- if is_rebase and not is_by_select -%}
        {%- do trueup._no_op('a rebase begins again, nothing is corrected') -%}
    {%- elif options.late != 'correct' and options.verify == 'never' -%}
        {%- do trueup._no_op(
            'nothing to correct (late: ' ~ options.late ~ ', verify: never)'
        ) -%}
    {%- else -%}
        {%- set shard = trueup.prepare_shard(
            collection, 'corrections', options, is_rebase=is_rebase,
            heals=options.verify != 'never'
        ) -%}
        {%- set columns = trueup.follow_columns(shard, options) -%}
        {%- set healed = trueup.verify_and_heal(shard, columns, target_relation, options) -%}
        {%- if options.late == 'correct' -%}
            {%- set surplus = trueup.compare(
                collection, shard, columns, target_relation, options, keeps_edits=healed
            ) -%}
        {%- else -%}
            {%- do trueup._no_op('nothing to correct') -%}
        {%- endif -%}
        {%- if healed or options.late == 'correct' -%}
            {%- set found = trueup.get_correction_counts(target_relation, shard.unique_key) -%}
            {%- if is_by_select -%}
                {%- do trueup.require_all_accounted_for(
                    collection, shard, target_relation, surplus, found
                ) -%}
            {%- endif -%}
            {%- do trueup._report(
                [found.report, healed, shard.frontier.get('reason')] | select | join('; ')
            ) -%}
            {%- do trueup._finish(target_relation) -%}
        {%- endif -%}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#-
    Writes the corrections that the model selects; after the edits that a heal has found, where it
    `keeps_edits`. Returns how many rows are desired more than are persisted, none where that is not
    known.
-#}
{% macro compare(collection, shard, columns, corrections, options, keeps_edits=none) -%}
    {%- set frontier = shard.frontier -%}
    {%- if shard.is_by_select -%}
        {%- do trueup.set_tick(frontier, options) -%}
    {%- endif -%}
    {%- set properties = trueup._comparison_properties(frontier) -%}
    {%- do run_query(trueup.declare_frontier_sql(collection, frontier)) -%}
    {%- do trueup.create_persisted_view(
        collection, shard, trueup._value_names(columns, shard.unique_key), options
    ) -%}
    {%- do trueup.create_desired_view(collection, shard, columns, options) -%}
    {%- set doubts = trueup.get_doubts(
        collection, shard, columns, options,
        found_before=0 if keeps_edits else trueup.get_found_before(corrections)
    ) -%}
    {%- do trueup.create_views_in_doubt(
        collection, shard.unique_key, columns,
        trueup.get_buckets_to_compare(collection, shard, columns, doubts.buckets)
    ) -%}
    {%- call statement('main') -%}
{{ trueup.create_table_sql(
    corrections,
    trueup.after_edits_sql(corrections, compiled_code, shard.unique_key) if keeps_edits
        else compiled_code,
    replace=true, own_properties=properties
) }}
    {%- endcall -%}
    {%- do trueup.drop_kept_steps(shard.extras) -%}
    {{ return(doubts.surplus) }}
{%- endmacro %}


{#-
    The corrections that a select finds, after the edits that are in the table, as a select. The table is
    replaced whole, so that what two runs find at once never stands in it together: the last one wins.
-#}
{% macro after_edits_sql(corrections, select, unique_key) -%}
    {%- set columns = trueup._column_list(unique_key + [
        '_error_key', '_persisted', '_desired', '_cause', '_seq', '_ts', '_after_batch_id'
    ]) -%}
select {{ columns }} from {{ corrections }} where _cause = 'external_edit'
union all
select {{ columns }} from {{ trueup._subquery(select) }}
{%- endmacro %}


{#-
    Counts the corrections. A dict: `report`, how many there are by cause, for dbt's line of the
    model; of those that are for the next batch `gained`, how many rows it adds by them, less those
    that it takes away, and `repeated`, how many are not the first of their key.
-#}
{% macro get_correction_counts(corrections, unique_key) -%}
    {%- set counts, gained, repeated = [], [0], [0] -%}
    {%- set query -%}
select
    coalesce(_cause, 'changed') as cause,
    count(*) as correction_count,
    count(_desired) - count(_persisted) as gained,
    count(*) - count(distinct struct({{ trueup._column_list(unique_key + ['_error_key']) }}))
        as repeated
from {{ corrections }}
group by _cause
order by cause
    {%- endset -%}
    {%- for row in run_query(query) -%}
        {%- do counts.append(row[1] ~ ' ' ~ row[0]) -%}
        {%- if row[0] != 'external_edit' -%}
            {%- do gained.append(row[2]) -%}
            {%- do repeated.append(row[3]) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({
        'report': 'corrections: ' ~ (counts | join(', ') or 'none'),
        'gained': gained | sum,
        'repeated': repeated | sum,
    }) }}
{%- endmacro %}
