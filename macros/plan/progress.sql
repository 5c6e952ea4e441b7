{#-
    Reads from the tables of a collection where its batches stand, as a dict: the part of the plan that does
    not come from the log (docs/objects.md).
-#}
{% macro _get_progress(collection, corrections) -%}
    {%- set recent_seq = trueup._get_recent_seq(collection.changelog) -%}
    {%- set select = trueup._progress_select(collection, corrections, recent_seq) -%}
    {%- set progress = run_query(select).rows[0].dict() -%}
    {%- if trueup._must_read_all_batches(
            recent_seq,
            [progress.applied_seq, progress.last_seq]
            + ([] if progress.staged_seq is none else [progress.staged_seq])
        ) -%}
        {%- set select = trueup._progress_select(collection, corrections) -%}
        {%- set progress = run_query(select).rows[0].dict() -%}
    {%- endif -%}
    {{ return(progress) }}
{%- endmacro %}


{#-
    The select behind `_get_progress`: one row. It aggregates all tables in one query. That is one Spark
    job; a query for each table would be many. It reads the progress rows from the batch `recent_seq` on.
-#}
{% macro _progress_select(collection, corrections, recent_seq=1) -%}
    {%- set is_recent = trueup._is_recent_expr(recent_seq) -%}
with

progress_rows as (

    -- Read the state before the changelog: then the state is never ahead, even if another run commits in
    -- between.
    select
        'state' as _table,
        _seq,
        _upper,
        null as _batch_id,
        null as _statistics,
        null as _length,
        null as _is_sealed
    from {{ collection.state }}
    where _kind = 'progress' and {{ is_recent }}
    union all
    select
        'changelog' as _table,
        _seq,
        _upper,
        _batch_id,
        _statistics,
        {{ trueup._total_expr('_certificate', 'len_sum') }} as _length,
        {{ trueup._is_sealed_expr() }} as _is_sealed
    from {{ collection.changelog }}
    where _kind = 'progress' and {{ is_recent }}
    union all
    select 'batch' as _table, _seq, _upper, _batch_id, _statistics, null as _length, null as _is_sealed
    from {{ collection.batch }}
    where _kind = 'progress'
    {%- if corrections %}
    union all
    select
        'corrections' as _table,
        null as _seq,
        null as _upper,
        coalesce(_after_batch_id, '') as _batch_id,
        null as _statistics,
        null as _length,
        null as _is_sealed
    from {{ corrections }}
    where {{ trueup._is_for_batch_expr() }}
    {%- endif %}

),

added_up as (

    select
        max(_seq) filter (where _table = 'state') as applied_seq,
        max(_upper) filter (where _table = 'state') as applied_upper,
        coalesce(max(_seq) filter (where _table = 'changelog'), 0) as last_seq,
        max_by(struct(_upper, _batch_id, _statistics, _length), _seq) filter (where _table = 'changelog')
            as _last,
        -- Not from the last batch: that batch may have been staged before a compaction.
        max(_statistics.since) filter (where _table = 'changelog') as since,
        sort_array(collect_list(case when _table = 'changelog' then struct(
            _seq,
            _statistics.seal.own as _own,
            _statistics.seal.previous as _previous,
            _is_sealed
        ) end)) as _seals,
        max(_statistics.format) filter (where _table = 'changelog') as format,
        collect_set(case when _table = 'changelog' then _batch_id end) as _batch_ids,
        max(_seq) filter (where _table = 'batch') as staged_seq,
        max(_batch_id) filter (where _table = 'batch') as staged_batch_id,
        max(_statistics.read_only) filter (where _table = 'batch') as is_staged_read_only,
        count_if(_table = 'corrections') as correction_count,
        -- All corrections of one comparison have the same batch here. Two comparisons at once may give two
        -- batches.
        array(
            min(_batch_id) filter (where _table = 'corrections'),
            max(_batch_id) filter (where _table = 'corrections')
        ) as _found_after,
        collect_set(case when _table = 'changelog' and _statistics.open_upper > _upper then _seq end)
            as _open_seqs
    -- The rows are few. One task for all of them needs no shuffle.
    from (select /*+ coalesce(1) */ * from progress_rows) as rows_of_all_tables

)

select
    last_seq,
    last_seq + 1 as seq,
    applied_seq,
    applied_upper,
    staged_seq,
    coalesce(_last._upper, {{ collection.options.as_of or 0 }}) as lower,
    _last._batch_id as last_batch_id,
    _last._statistics.commands_settled as settled_before,
    coalesce(_last._statistics.records_indexed, 0) as records_indexed,
    coalesce(_last._length, 0) as bytes_indexed,
    _last._statistics.tombstones as tombstones,
    _last._statistics.partitions is not null as was_reclocked,
    coalesce(_last._statistics.open_upper > _last._upper, false) as has_provisional,
    _last._statistics.definition as settled_definition,
    to_json(_last._statistics.position) as last_position,
    _last._statistics.seal.own as last_seal,
    {{ trueup._first_unsealed_expr(recent_seq) }} as unsealed_seq,
    since,
    format,
    case when not array_contains(_batch_ids, staged_batch_id) then staged_batch_id end
        as leftover_batch_id,
    coalesce(is_staged_read_only, false) as is_leftover_read_only,
    if(array_contains(_found_after, coalesce(_last._batch_id, '')), correction_count, 0)
        as correction_count,
    exists(_open_seqs, _seq -> _seq >= applied_seq and _seq < last_seq) as takes_back
from added_up
{%- endmacro %}
