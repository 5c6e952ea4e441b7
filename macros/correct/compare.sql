{#-
    Writes the corrections that the model selects; after the edits that a heal has found, where it
    `keeps_edits`. Returns how many rows are desired more than are persisted, none where that is not
    known.
-#}
{% macro _ensure_compared(collection, shard, columns, corrections, options, keeps_edits=none) -%}
    {%- set frontier = shard.frontier -%}
    {%- if shard.is_by_select -%}
        {%- do trueup._with_tick(frontier, options) -%}
    {%- endif -%}
    {%- set properties = trueup._comparison_properties(frontier) -%}
    {%- do run_query(trueup._declare_plan_sql(collection, frontier)) -%}
    {%- do trueup._ensure_persisted_view(
        collection, shard, trueup._value_names(columns, shard.unique_key), options
    ) -%}
    {%- do trueup._ensure_desired_view(collection, shard, columns, options) -%}
    {%- set doubts = trueup._get_mismatched_buckets(
        collection, shard, columns, options,
        found_before=0 if keeps_edits else trueup._get_found_before(corrections)
    ) -%}
    {%- do trueup._ensure_mismatched_views(
        collection, shard.unique_key, columns,
        trueup._ensure_buckets_to_compare(collection, shard, columns, doubts.buckets)
    ) -%}
    {%- call statement('main') -%}
{{ trueup._create_table_sql(
    corrections,
    trueup._after_edits_select(corrections, compiled_code, shard.unique_key) if keeps_edits
        else compiled_code,
    replace=true, own_properties=properties
) }}
    {%- endcall -%}
    {%- do trueup._ensure_no_kept_steps(shard.extras) -%}
    {{ return(doubts.surplus) }}
{%- endmacro %}


{#-
    The corrections that a select finds, after the edits that are in the table, as a select. The table is
    replaced whole, so that what two runs find at once never stands in it together: the last one wins.
-#}
{% macro _after_edits_select(corrections, select, unique_key) -%}
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
{% macro _get_correction_counts(corrections, unique_key) -%}
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
