{#-
    Reads what the tables of a collection say of its batches. A dict: of what `get_frontier` returns all
    that does not come from the log; and

    `settled_before`      `commands_settled` when the last batch was minted
    `settled_partitions`  how far the last batch goes in each partition, in JSON
-#}
{% macro get_progress(changelog, batch, state, corrections, options) -%}
    {{ return(run_query(
        trueup.progress_sql(changelog, batch, state, corrections, options)
    ).rows[0].dict()) }}
{%- endmacro %}


{#-
    The select behind `get_progress`: one row. All tables are added up at once: that is one job of Spark,
    where a query each would be many.
-#}
{% macro progress_sql(changelog, batch, state, corrections, options) -%}
with

progress_rows as (

    -- The state comes before the changelog: whatever other runs commit in between, it is not ahead.
    select 'state' as _table, _seq, null as _upper, null as _batch_id, null as _statistics
    from {{ state }}
    where _kind = 'progress'
    union all
    select 'changelog' as _table, _seq, _upper, _batch_id, _statistics
    from {{ changelog }}
    where _kind = 'progress'
    union all
    select 'batch' as _table, _seq, _upper, _batch_id, null as _statistics
    from {{ batch }}
    where _kind = 'progress'
    {%- if corrections %}
    union all
    select
        'corrections' as _table,
        null as _seq,
        null as _upper,
        coalesce(_after_batch_id, '') as _batch_id,
        null as _statistics
    from {{ corrections }}
    where not (_cause <=> 'external_edit')
    {%- endif %}

),

added_up as (

    select
        max(_seq) filter (where _table = 'state') as applied_seq,
        coalesce(max(_seq) filter (where _table = 'changelog'), 0) as last_seq,
        max_by(struct(_upper, _batch_id, _statistics), _seq) filter (where _table = 'changelog')
            as _last,
        -- Not the last one's: its batch may have been staged before a compaction.
        max(_statistics.since) as since,
        count_if(_table = 'changelog') as progress_count,
        collect_set(case when _table = 'changelog' then _seq end) as _seqs,
        collect_set(case when _table = 'changelog' then _batch_id end) as _batch_ids,
        max(_batch_id) filter (where _table = 'batch') as staged_batch_id,
        count_if(_table = 'corrections') as correction_count,
        -- One comparison finds all of them after the same batch; two at once, after one of two.
        array(
            min(_batch_id) filter (where _table = 'corrections'),
            max(_batch_id) filter (where _table = 'corrections')
        ) as _found_after,
        collect_set(case when _statistics.open_upper > _upper then _seq end) as _open_seqs
    from progress_rows

)

select
    last_seq,
    last_seq + 1 as seq,
    applied_seq,
    coalesce(_last._upper, {{ options.as_of }}) as lower,
    _last._batch_id as last_batch_id,
    _last._statistics.commands_settled as settled_before,
    to_json(_last._statistics.partitions) as settled_partitions,
    coalesce(_last._statistics.records_indexed, 0) as records_indexed,
    coalesce(_last._statistics.open_upper > _last._upper, false) as has_provisional,
    _last._statistics.definition as settled_definition,
    since,
    progress_count <> last_seq or size(_seqs) <> last_seq as lacks_batches,
    case when not array_contains(_batch_ids, staged_batch_id) then staged_batch_id end
        as leftover_batch_id,
    if(array_contains(_found_after, coalesce(_last._batch_id, '')), correction_count, 0)
        as correction_count,
    exists(_open_seqs, _seq -> _seq >= applied_seq and _seq < last_seq) as takes_back
from added_up
{%- endmacro %}
