{#-
    Catch up, mint, write: steps 1 to 3 of a run. Replaces the staged batch; the select is the
    model's own (`trueup.batch`). With nothing to settle and nothing to write nothing is staged,
    and what a run before has staged without appending it is thrown away.
-#}
{% materialization trueup_batch, adapter='spark' %}
    {%- set collection = trueup._collection_of('batch') -%}
    {%- set options = trueup._options(collection) -%}
    {%- set is_by_select = trueup._is_by_select(collection) -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set is_rebase = should_full_refresh() and trueup._var('trueup_rebase') -%}
    {%- if is_rebase -%}
        {%- do trueup._require_whole_rebase(collection) -%}
        {#- The corrections of a collection by a select have begun it, for the batch is theirs. -#}
        {%- set is_rebase = not is_by_select -%}
    {%- endif -%}
    {%- set corrections = trueup._corrections_of(collection, options) if not is_rebase else none -%}
    {#- Bad settings are refused before anything is touched. -#}
    {%- do trueup._file_format() -%}
    {%- do trueup._var('trueup_until') -%}
    {%- do trueup._var('trueup_read_only') -%}
    {%- do trueup._var('trueup_approve') -%}

    {{ run_hooks(pre_hooks) }}

    {%- if corrections -%}
        {%- do trueup._require_made(collection, corrections, by='corrections') -%}
    {%- endif -%}
    {%- set comparison = trueup.get_comparison(corrections) if is_by_select else none -%}
    {%- set shard = trueup.prepare_shard(collection, 'batch', options, corrections, is_rebase) -%}
    {%- set frontier = shard.frontier -%}

    {%- set leftover = frontier.leftover_batch_id -%}
    {%- if leftover is not none and leftover == trueup._var('trueup_approve') -%}
        {%- do trueup._no_op('batch ' ~ leftover ~ ' was staged before, and is approved') -%}
    {%- elif trueup._has_nothing_to_write(frontier) -%}
        {%- if leftover is not none -%}
            {%- do run_query('delete from ' ~ target_relation ~ ' where true') -%}
        {%- endif -%}
        {%- do trueup._no_op('up to date at ' ~ frontier.lower) -%}
    {%- else -%}
        {%- do run_query(trueup.declare_frontier_sql(collection, frontier)) -%}
        {%- do trueup.create_batch_views(collection, shard, corrections, options) -%}
        {%- call statement('main') -%}
            {{ trueup.create_table_sql(target_relation, compiled_code, replace=true) }}
        {%- endcall -%}
        {%- do trueup.drop_kept_steps(shard.extras) -%}
        {%- if frontier.upper == frontier.lower
                and trueup.get_staged_count(target_relation) == 0 -%}
            {%- do run_query('delete from ' ~ target_relation ~ ' where true') -%}
            {%- do trueup._report('up to date at ' ~ frontier.lower) -%}
        {%- elif is_by_select and trueup.get_comparison(corrections) != comparison -%}
            {#- The upper is of one comparison, the corrections may be of the other. -#}
            {%- do run_query('delete from ' ~ target_relation ~ ' where true') -%}
            {%- do trueup._report('skipped: another run compared at the same moment') -%}
        {%- else -%}
            {%- do trueup._report(
                'batch ' ~ frontier.seq ~ ' [' ~ frontier.lower ~ ', ' ~ frontier.upper ~ ')'
            ) -%}
        {%- endif -%}
    {%- endif -%}

    {%- do trueup._finish(target_relation) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#- Whether there is neither a tick to settle, nor a correction, nor anything in open ticks. -#}
{% macro _has_nothing_to_write(frontier) -%}
    {{ return(
        frontier.upper == frontier.lower
        and frontier.correction_count == 0
        and frontier.open_upper == frontier.lower
        and not frontier.has_provisional
    ) }}
{%- endmacro %}


{#- The corrections that the batch takes in, or none where the collection has none. -#}
{% macro _corrections_of(collection, options) -%}
    {{ return(
        trueup._sibling(collection, 'corrections') if options.late == 'correct' else none
    ) }}
{%- endmacro %}


{#- How many updates the staged batch has. -#}
{% macro get_staged_count(batch) -%}
    {{ return(run_query('select count(*) from ' ~ batch ~ " where _kind = 'update'").rows[0][0]) }}
{%- endmacro %}
