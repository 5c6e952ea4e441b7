{#-
    Where the changelog and the state stand. A dict:

    - `last_seq` and `applied_seq`: the last batch of the changelog and of the state
    - `applied_upper` and `since`: the upper of the state, and the tick up to which the changelog is compacted
    - `updates_ahead`: the number of updates and order rows in the batches after `applied_seq`
    - `records_indexed`: the number of rows and errors after the last batch
    - `takes_back`: whether the tail retracts provisional updates: a batch from `applied_seq` to before
      `last_seq` left ticks open, and the batch after it retracted what was written for them
-#}
{% macro _get_tail(changelog, state) -%}
    {%- set recent_seq = trueup._get_recent_seq(changelog) -%}
    {%- set tail = run_query(trueup._tail_select(changelog, state, recent_seq)).rows[0].dict() -%}
    {%- if trueup._must_read_all_batches(recent_seq, [tail.applied_seq, tail.last_seq]) -%}
        {%- set tail = run_query(trueup._tail_select(changelog, state)).rows[0].dict() -%}
    {%- endif -%}
    {{ return(tail) }}
{%- endmacro %}


{#-
    The tail that the append of this run has left; none if this run has appended nothing, or if another run came in
    between. `properties` are those of the state.

    Another run stages its batch only on a state that has applied this one. So if the state has the same snapshot as
    when this run staged, the changelog ends with the batch of this run. Only if the snapshot does not tell are the
    tables asked.
-#}
{% macro _get_tail_of_this_run(collection, properties) -%}
    {%- set expected = trueup._finding(collection, 'tail') -%}
    {%- set snapshot = trueup._iceberg_snapshot(properties) -%}
    {%- if expected is none
            or snapshot is not none and snapshot == trueup._finding(collection, 'staged_on_snapshot') -%}
        {{ return(expected) }}
    {%- endif -%}
    {%- set ends = run_query(
        trueup._last_batches_select(collection.changelog, collection.state, expected.applied_seq)
    ).rows[0].dict() -%}
    {%- set is_same = ends.applied_seq == expected.applied_seq and ends.last_seq == expected.last_seq -%}
    {{ return(expected if is_same else none) }}
{%- endmacro %}


{#-
    The last batches of the state, from `applied_seq` on, and of the changelog, after `applied_seq`, as a select of one
    row. One aggregate for both tables takes half as many jobs as two.
-#}
{% macro _last_batches_select(changelog, state, applied_seq) -%}
select
    max(case when _is_applied then _seq end) as applied_seq,
    max(case when not _is_applied then _seq end) as last_seq
from (
    select true as _is_applied, _seq
    from {{ state }}
    where _kind = 'progress' and _seq >= {{ applied_seq }}
    union all
    select false as _is_applied, _seq
    from {{ changelog }}
    where _kind = 'progress' and _seq > {{ applied_seq }}
) as ends
{%- endmacro %}


{#- The select behind `_get_tail`: one row. It reads the progress rows from the batch `recent_seq` on. -#}
{% macro _tail_select(changelog, state, recent_seq=1) -%}
    {%- set is_recent = trueup._is_recent_expr(recent_seq) -%}
with

progress_rows as (

    -- Read the state before the changelog: then the state is never ahead, even if another run commits in
    -- between.
    select
        'state' as _table,
        _seq,
        _upper,
        null as _since,
        null as _updates,
        null as _rows,
        false as _leaves_open
    from {{ state }}
    where _kind = 'progress' and {{ is_recent }}
    union all
    select
        'changelog' as _table,
        _seq,
        _upper,
        _statistics.since as _since,
        {{ trueup._rows_of_batch_count_expr() }} as _updates,
        _statistics.records_indexed as _rows,
        _statistics.open_upper > _upper as _leaves_open
    from {{ changelog }}
    where _kind = 'progress' and {{ is_recent }}

),

added_up as (

    select
        max(_seq) filter (where _table = 'state') as applied_seq,
        max(_upper) filter (where _table = 'state') as applied_upper,
        coalesce(max(_seq) filter (where _table = 'changelog'), 0) as last_seq,
        max(_since) as since,
        max_by(_rows, _seq) filter (where _table = 'changelog') as records_indexed,
        collect_list(struct(_seq, _updates)) as _batches,
        collect_set(case when _leaves_open then _seq end) as _open_seqs
    from progress_rows

)

select
    applied_seq,
    applied_upper,
    last_seq,
    since,
    aggregate(
        filter(_batches, _batch -> _batch._seq > applied_seq),
        0L,
        (_updates, _batch) -> _updates + _batch._updates
    ) as updates_ahead,
    coalesce(records_indexed, 0) as records_indexed,
    exists(_open_seqs, _seq -> _seq >= applied_seq and _seq < last_seq) as takes_back
from added_up
{%- endmacro %}
