{#-
    Apply: step 5 of a run. Merges the tail of the changelog into the state; `--full-refresh`
    rebuilds the state from the whole changelog. The changelog is all that is read.
-#}
{% materialization trueup_state, adapter='spark' %}
    {%- set options = trueup._options() -%}
    {%- set unique_key = trueup._unique_key('state') -%}
    {%- set collection = trueup._collection_of('state') -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set changelog = trueup._sibling(collection, 'changelog') -%}

    {{ run_hooks(pre_hooks) }}

    {%- do trueup._require_made(collection, changelog, by='batch') -%}
    {%- do trueup.require_same_key(changelog, unique_key) -%}
    {%- if should_full_refresh() -%}
        {%- set rehydrated = trueup.rehydrate_sql(changelog, unique_key) -%}
        {%- call statement('main') -%}
            {{ trueup.create_table_sql(target_relation, rehydrated, replace=true) }}
        {%- endcall -%}
        {%- do trueup._report('rebuilt from the changelog') -%}
    {%- else -%}
        {%- do trueup.create_state(changelog, target_relation, unique_key) -%}
        {%- set position = trueup.get_position(changelog, target_relation) -%}
        {%- do trueup._require_changelog_ahead(collection, position) -%}
        {%- if position.applied_seq == position.last_seq -%}
            {%- do trueup._no_op('up to date at batch ' ~ position.applied_seq) -%}
        {%- else -%}
            {%- set net_updates = trueup.get_net_updates(
                collection, changelog, unique_key, position, compiled_code
            ) -%}
            {%- set looked = trueup.look_at_tail(collection, changelog, unique_key, position) -%}
            {%- call statement('main') -%}
                {{ trueup.apply_updates_sql(
                    target_relation, net_updates, unique_key, looked.key_range, looked.key_filter
                ) }}
            {%- endcall -%}
            {%- do trueup._report('applied batch ' ~ position.last_seq) -%}
            {%- do trueup.maintain_when_due(target_relation, changelog, options, position) -%}
        {%- endif -%}
    {%- endif -%}

    {%- do trueup._finish(target_relation) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#-
    Where changelog and state stand. A dict: `last_seq` and `applied_seq`, the last batch of each;
    `updates_ahead`, how many updates the batches after `applied_seq` have; `records_indexed`, how many
    rows and errors there are after the last one; and `takes_back`, whether a batch from `applied_seq`
    to before `last_seq` left ticks open, so that the next one took back what it had written for them.
-#}
{% macro get_position(changelog, state) -%}
    {{ return(run_query(trueup.position_sql(changelog, state)).rows[0].dict()) }}
{%- endmacro %}


{% macro position_sql(changelog, state) -%}
with

progress_rows as (

    -- The state comes before the changelog: whatever other runs commit in between, it is not ahead.
    select 'state' as _table, _seq, null as _updates, null as _rows, false as _leaves_open
    from {{ state }}
    where _kind = 'progress'
    union all
    select
        'changelog' as _table,
        _seq,
        _statistics.updates_staged as _updates,
        _statistics.records_indexed as _rows,
        _statistics.open_upper > _upper as _leaves_open
    from {{ changelog }}
    where _kind = 'progress'

),

added_up as (

    select
        max(_seq) filter (where _table = 'state') as applied_seq,
        coalesce(max(_seq) filter (where _table = 'changelog'), 0) as last_seq,
        max_by(_rows, _seq) filter (where _table = 'changelog') as records_indexed,
        collect_list(struct(_seq, _updates)) as _batches,
        collect_set(case when _leaves_open then _seq end) as _open_seqs
    from progress_rows

)

select
    applied_seq,
    last_seq,
    aggregate(
        filter(_batches, _batch -> _batch._seq > applied_seq),
        0L,
        (_updates, _batch) -> _updates + _batch._updates
    ) as updates_ahead,
    coalesce(records_indexed, 0) as records_indexed,
    exists(_open_seqs, _seq -> _seq >= applied_seq and _seq < last_seq) as takes_back
from added_up
{%- endmacro %}


{#-
    The select of what the batches after `position.applied_seq` make of the state: `in_sequence`, the
    model's own, unless they take back what was written before for ticks that were open then.
    Declares the variable `applied`.
-#}
{% macro get_net_updates(collection, changelog, unique_key, position, in_sequence=none) -%}
    {%- do run_query(trueup.declare_applied_sql(collection, position.applied_seq)) -%}
    {%- set takes_back = position.takes_back -%}
    {{ return(in_sequence if in_sequence and not takes_back else trueup.consolidate_tail(
        changelog=changelog,
        applied=trueup._session_name(collection, 'applied'),
        identity=unique_key + ['_error_key'],
        takes_back=takes_back
    )) }}
{%- endmacro %}
