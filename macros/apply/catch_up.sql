{#-
    Applies the batches that the changelog has and the state lacks: an earlier run crashed between append
    and apply. `tail` is what `_get_tail` returns, or a plan.
-#}
{% macro _ensure_caught_up(collection, tail) -%}
    {%- do trueup._require_changelog_ahead(collection.name, tail) -%}
    {%- if tail.applied_seq < tail.last_seq -%}
        {%- do trueup._require_same_key(collection, trueup._get_properties(collection.changelog)) -%}
        {%- do trueup._require_one_progress_row(collection, tail) -%}
        {#- A killed run may have changed the columns of the changelog, but not yet those of the state. -#}
        {%- set columns = trueup._ensure_widened(collection.changelog) -%}
        {%- do trueup._ensure_state_columns(collection, columns) -%}
        {%- do trueup._require_sound_tail(collection, tail, columns) -%}
        {%- set net_updates = trueup._ensure_net_updates(collection, tail) -%}
        {%- do trueup._require_isolated(collection.state) -%}
        {%- do trueup._require_exact_merge() -%}
        {%- do trueup._ensure_scan_follows(collection.state, tail) -%}
        {%- do run_query(trueup._apply_tail_sql(collection, tail, net_updates)) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Forgets the last scan if one commit is about to apply several batches. If the state has applied no batch, that
    commit replaces all its rows. Then the state is right, and needs no scan.
-#}
{% macro _ensure_scan_follows(state, tail) -%}
    {%- if tail.applied_seq == 0 and tail.last_seq > 1 -%}
        {%- do run_query(trueup._set_properties_sql(state, trueup._no_scan_properties())) -%}
    {%- elif tail.last_seq - tail.applied_seq > 1 -%}
        {%- do trueup._ensure_scan_forgotten(state) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if the changelog does not have what the state needs: batches it has applied, or retractions. -#}
{% macro _require_changelog_ahead(collection, tail) -%}
    {%- if tail.applied_seq is none -%}
        {%- do trueup._raise_progress_row_error(collection, 'none') -%}
    {%- elif tail.applied_seq > tail.last_seq -%}
        {%- do trueup._raise_error(
            'The changelog of `' ~ collection ~ '`',
            'at or past batch ' ~ tail.applied_seq ~ ', which its state has applied',
            'a changelog that ends with batch ' ~ tail.last_seq,
            'Batches are lost. Restore the changelog; or accept the loss and rebuild the state from'
            ~ ' what is left: ' ~ trueup._rebuild_command(collection) ~ '.'
        ) -%}
    {%- elif trueup._is_tail_compacted(tail) -%}
        {%- do trueup._raise_error(
            'The state of `' ~ collection ~ '`',
            'at the last batch, ' ~ tail.last_seq ~ ', because the changelog was compacted since',
            'batch ' ~ tail.applied_seq ~ ': somebody has rolled it back',
            'Nothing is applied. Rebuild it from the changelog: ' ~ trueup._rebuild_command(collection) ~ '.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless a state that is behind has one progress row, and this row has no key. -#}
{% macro _require_one_progress_row(collection, tail) -%}
    {%- if trueup._get_is_progress_row_wrong(collection, tail) -%}
        {%- do trueup._raise_progress_row_error(collection.name, 'more than one, or one with a key') -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Raises if somebody has edited a batch that the state lacks. Its rows would reach the state, and the snapshots of
    the state would not tell. A changelog that begins with a compaction has updates that no seal describes.
-#}
{% macro _require_sound_tail(collection, tail, columns) -%}
    {%- if tail.applied_seq > 0 or tail.since is none -%}
        {%- do trueup._require_undamaged(collection.changelog, run_query(trueup._first_damaged_of_tail_select(
            collection.changelog, collection.unique_key, columns, tail.applied_seq
        )).rows[0][0]) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises, because a state does not have one progress row. -#}
{% macro _raise_progress_row_error(collection, found) -%}
    {%- do trueup._raise_error(
        'The state of `' ~ collection ~ '`', 'a table with one progress row', found,
        'Rebuild it from the changelog: ' ~ trueup._rebuild_command(collection) ~ '.'
    ) -%}
{%- endmacro %}


{#-
    Whether a compaction has removed retractions that the state still needs. A compaction is refused until the state
    has every batch, so somebody has rolled the state back since. An empty state needs no retractions.
-#}
{% macro _is_tail_compacted(tail) -%}
    {%- set since = tail.get('since') -%}
    {{ return(
        since is not none and 0 < tail.applied_seq < tail.last_seq and since > tail.applied_upper
    ) }}
{%- endmacro %}


{#-
    Whether a state that is behind has more than one progress row, or one with a key: somebody has put old rows back,
    or has edited the row. The apply moves one progress row, which it finds by its empty key. A state that is not
    behind is verified.
-#}
{% macro _get_is_progress_row_wrong(collection, tail) -%}
    {%- if tail.applied_seq >= tail.last_seq -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set query -%}
select count(*) <> 1 or count_if({{ trueup._all_null_expr(collection.identity) }}) <> 1
from {{ collection.state }}
where _kind = 'progress'
    {%- endset -%}
    {{ return(run_query(query).rows[0][0]) }}
{%- endmacro %}
