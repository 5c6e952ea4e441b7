{#-
    The breaker: raises before the append if the staged batch retracts more rows and errors than the option
    `max_retractions` allows. The option is a count, or a share of the rows and errors that exist. The
    staged batch stays, so that you can look at it. The var `trueup_approve` lets it through. You
    approve a plan, not the run that staged it: if another run stages the same plan, you need not approve it
    again.
-#}
{% macro _require_few_retractions(collection, staged) -%}
    {%- set limit, batch = collection.options.max_retractions, collection.batch -%}
    {%- if limit is none or trueup._get_is_approved(batch, staged.batch_id) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set taken = run_query(
        trueup._retractions_select(batch, staged.batch_id, collection.identity)
    ).rows[0].dict() -%}
    {%- set allowed = limit * staged.records_indexed if limit is float else limit -%}
    {%- if taken.retractions > allowed -%}
        {%- do trueup._raise_error(
            'The rows that batch ' ~ staged.seq ~ ' of ' ~ collection.name ~ ' retracts',
            'at most ' ~ limit ~ (' of all rows' if limit is float else ' rows')
            ~ ' ' ~ trueup._max_retractions_text(),
            taken.retractions ~ ' of ' ~ staged.records_indexed ~ ' rows, such as ' ~ taken.samples,
            'Nothing is appended; the staged batch is the table ' ~ batch ~ '. To approve it: dbt run -s '
            ~ collection.name ~ "_changelog+ --vars '{trueup_approve: "
            ~ trueup._get_plan_name(batch, staged.batch_id) ~ "}'"
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The words by which `trueup_health` knows the error of the breaker. -#}
{% macro _max_retractions_text() -%}
    {{ return('(option `max_retractions`)') }}
{%- endmacro %}


{#-
    One row: how many rows and errors that exist now would be removed by the batch, and the keys of two of
    them. A row that the batch adds and removes again does not count. Rows of another batch do not count either:
    another run may have replaced this one.
-#}
{% macro _retractions_select(batch, batch_id, identity) -%}
with

net as (

    select {{ trueup._all_but_list(trueup._update_columns()) }}, sum(_diff) as _net_diff
    from {{ batch }}
    where _kind = 'update' and _batch_id = {{ trueup._literal(batch_id) }}
    group by all
    having sum(_diff) < 0

),

samples as (

    select left(to_json(
        struct({{ trueup._column_list(identity) }}), map('ignoreNullFields', 'false')
    ), 200) as sample
    from net

)

select
    count(*) as retractions,
    array_join(array_distinct(array(min(sample), max(sample))), ', ') as samples
from samples
{%- endmacro %}
