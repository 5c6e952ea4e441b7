{#-
    Writes the corrections that the model's `select` finds among the keys of a `scope` (see
    `_ensure_comparison_scope`). With `keeps_edits` they come after the edits that a heal has found. Returns
    how many more rows are desired than persisted; none if that is not known.
-#}
{% macro _ensure_compared(collection, plan, columns, select, scope, keeps_edits) -%}
    {%- set corrections = collection.corrections -%}
    {%- do trueup._ensure_plan_variable(collection.name, plan) -%}
    {%- do trueup._ensure_persisted_view(collection, plan, columns) -%}
    {%- if scope.extent == 'late' -%}
        {%- do trueup._ensure_late_keys_view(collection, plan, columns) -%}
    {%- endif -%}
    {%- do trueup._ensure_desired_view(
        dict(collection, commands=scope.commands), plan, columns, scope.extent
    ) -%}
    {%- set mismatched = trueup._get_mismatched_buckets(
        collection, plan, columns, scope.extent,
        found_before=0 if keeps_edits else trueup._get_found_before(corrections)
    ) -%}
    {%- do trueup._ensure_mismatched_views(
        collection, columns, scope.extent,
        trueup._ensure_buckets_to_compare(collection, plan, columns, mismatched.buckets)
    ) -%}
    {%- call statement('main') -%}
{{ trueup._create_table_sql(
    corrections,
    trueup._after_edits_select(corrections, select, collection.unique_key) if keeps_edits else select,
    replace=true, own_properties=dict(trueup._comparison_properties(plan, scope.extent), **scope.noted)
) }}
    {%- endcall -%}
    {%- do trueup._ensure_no_step_tables(collection.extras) -%}
    {{ return(mismatched.surplus) }}
{%- endmacro %}


{#-
    A select of the edits that are in the table, followed by the corrections that a select finds. The whole
    table is replaced. So the results of two runs at once never mix: the last run wins.
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
    Counts the corrections. A dict:

    - `report`: the number of corrections by cause, for dbt's line of the model
    - `count`: the number of all corrections
    - `gained`: by how many rows the corrections of the next batch make the collection larger (rows added
      minus rows removed)
    - `repeated`: how many corrections of the next batch are not the first of their key
-#}
{% macro _get_correction_counts(collection) -%}
    {%- set counts, gained, repeated, total = [], [0], [0], [0] -%}
    {%- set query -%}
select
    coalesce(_cause, 'changed') as cause,
    count(*) as correction_count,
    count(_desired) - count(_persisted) as gained,
    count(*) - count(distinct struct({{ trueup._column_list(collection.identity) }}))
        as repeated
from {{ collection.corrections }}
group by _cause
order by cause
    {%- endset -%}
    {%- for row in run_query(query) -%}
        {%- do counts.append(row[1] ~ ' ' ~ row[0]) -%}
        {%- do total.append(row[1]) -%}
        {%- if row[0] != 'external_edit' -%}
            {%- do gained.append(row[2]) -%}
            {%- do repeated.append(row[3]) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({
        'report': 'corrections: ' ~ (counts | join(', ') or 'none'),
        'count': total | sum,
        'gained': gained | sum,
        'repeated': repeated | sum,
    }) }}
{%- endmacro %}
