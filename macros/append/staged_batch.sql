{#-
    The staged batch, compared with the end of the changelog. A dict:

    - `seq`, `lower`, `upper` and `batch_id` of the staged batch; none if nothing is staged
    - `is_appended`: whether the changelog has this batch
    - `last_seq`: the last batch of the changelog; none if it has none
    - `is_from_now`: whether the batch was planned after this run began
    - `records_indexed`: the rows and errors before the batch
    - `mismatch`: the message if the batch does not continue the changelog, else none
-#}
{% macro _get_staged_batch(collection) -%}
    {%- set changelog, batch = collection.changelog, collection.batch -%}
    {%- set recent_seq = trueup._get_recent_seq(changelog) -%}
    {%- set staged = run_query(trueup._staged_batch_select(changelog, batch, recent_seq)).rows[0].dict() -%}
    {%- if staged.seq is not none and trueup._must_read_all_batches(recent_seq, [staged.seq, staged.last_seq]) -%}
        {%- set staged = run_query(trueup._staged_batch_select(changelog, batch)).rows[0].dict() -%}
    {%- endif -%}
    {{ return(staged) }}
{%- endmacro %}


{#-
    The select behind `_get_staged_batch`: one row. It reads the progress rows of the changelog from the batch
    `recent_seq` on.
-#}
{% macro _staged_batch_select(changelog, batch, recent_seq=1) -%}
with

progress_rows as (

    select
        'batch' as _table,
        _seq,
        _lower,
        _upper,
        _batch_id,
        _statistics.minted_at as minted_at,
        null as records_indexed
    from {{ batch }}
    where _kind = 'progress'
    union all
    select
        'changelog' as _table,
        _seq,
        null as _lower,
        _upper,
        _batch_id,
        null as minted_at,
        _statistics.records_indexed as records_indexed
    from {{ changelog }}
    where _kind = 'progress' and {{ trueup._is_recent_expr(recent_seq) }}

),

added_up as (

    select
        {% for table, name in [('batch', 'staged'), ('changelog', 'appended')] -%}
        max_by(
            struct(_seq, _lower, _upper, _batch_id, minted_at, records_indexed),
            _seq
        ) filter (where _table = '{{ table }}') as {{ name }},
        {% endfor -%}
        collect_set(case when _table = 'changelog' then _batch_id end) as _batch_ids
    from progress_rows

)

select
    staged._seq as seq,
    staged._lower as lower,
    staged._upper as upper,
    staged._batch_id as batch_id,
    coalesce(array_contains(_batch_ids, staged._batch_id), false) as is_appended,
    coalesce(staged.minted_at >= timestamp_millis({{ trueup._milliseconds(run_started_at) }}), false)
        as is_from_now,
    appended._seq as last_seq,
    coalesce(appended.records_indexed, 0) as records_indexed,
    case
        when staged._seq <> coalesce(appended._seq, 0) + 1 or staged._lower <> appended._upper then
            {{ trueup._upper_mismatch_expr(
                seq='staged._seq', lower='staged._lower',
                upper="coalesce(cast(appended._upper as string), 'none')"
            ) }}
    end as mismatch
from added_up
{%- endmacro %}


{#-
    The staged batch as the changelog has it, a dict; none if the changelog does not have it.

    - `updates_staged`: the number of its updates, `rows_written`: the same with its order rows
    - `records_indexed`: the rows and errors after the batch
-#}
{% macro _get_appended_batch(changelog, staged) -%}
    {%- set query -%}
select
    _statistics.updates_staged,
    {{ trueup._rows_of_batch_count_expr() }} as rows_written,
    _statistics.records_indexed
from {{ changelog }}
where
    _kind = 'progress'
    and _seq = {{ staged.seq }}
    and _batch_id = {{ trueup._literal(staged.batch_id) }}
    {%- endset -%}
    {%- set rows = run_query(query).rows -%}
    {{ return(rows[0].dict() if rows else none) }}
{%- endmacro %}
