{#-
    The breaker: raises before the append where the staged batch takes away more than the option
    `max_retractions` allows, a number of rows or a share of those that there are. The staged batch
    is the plan to look at; the var `trueup_approve` lets it through.
-#}
{% macro require_few_retractions(collection, batch, staged, options) -%}
    {%- set limit = options.max_retractions -%}
    {%- set is_share = limit is float -%}
    {%- set allowed = limit * staged.records_indexed if is_share else limit -%}
    {%- if limit is none or staged.retractions <= allowed
            or trueup._var('trueup_approve') == staged.batch_id -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set samples = run_query(
        trueup.retraction_samples_sql(batch, trueup._unique_key('changelog'))
    ).rows[0][0] -%}
    {%- do trueup._refuse(
        'Batch ' ~ staged.seq ~ ' of ' ~ collection,
        'one that retracts at most ' ~ limit ~ (' of the rows' if is_share else ' rows')
        ~ ' (option `max_retractions`)',
        staged.retractions ~ ' retractions of ' ~ staged.records_indexed ~ ' rows, such as '
        ~ samples,
        'Nothing is appended; the plan is the table ' ~ batch ~ '. To approve it: dbt run -s '
        ~ collection ~ "_changelog+ --vars '{trueup_approve: " ~ staged.batch_id ~ "}'"
    ) -%}
{%- endmacro %}


{#- Three keys that the staged batch takes something away from, as a select of one text. -#}
{% macro retraction_samples_sql(batch, unique_key) -%}
select array_join(collect_list(sample), ', ')
from (
    select left(to_json(struct({{ trueup._column_list(unique_key) }})), 200) as sample
    from {{ batch }}
    where _diff < 0
    order by sample
    limit 3
)
{%- endmacro %}
