{#-
    Catch up, mint, write: steps 1 to 3 of a run. Replaces the staged batch; the select is the
    model's own (`trueup.batch`). With nothing to settle nothing is staged, and what a run before
    has staged without appending it is thrown away.
-#}
{% materialization trueup_batch, adapter='spark' %}
    {%- set options = trueup._options() -%}
    {%- set unique_key = trueup._unique_key('batch') -%}
    {%- set collection = trueup._collection_of('batch') -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set commands = trueup._sibling(collection, 'commands') -%}
    {%- set changelog = trueup._sibling(collection, 'changelog') -%}
    {%- set state = trueup._sibling(collection, 'state') -%}
    {%- set is_rebase = should_full_refresh() and trueup._var('trueup_rebase') -%}
    {%- if is_rebase -%}
        {%- do trueup._require_whole_rebase(collection) -%}
    {%- endif -%}
    {#- Bad settings are refused before anything is touched. -#}
    {%- do trueup._file_format() -%}
    {%- do trueup._var('trueup_until') -%}
    {%- do trueup._var('trueup_read_only') -%}

    {{ run_hooks(pre_hooks) }}

    {%- set described = trueup.get_columns('select * from ' ~ commands) -%}
    {%- set columns = trueup._user_columns(described) -%}
    {%- set extras = trueup._extras(described) -%}
    {%- set is_reclocked = '_offset' in extras -%}
    {%- do trueup._require_free_name(options.inline_errors, columns) -%}
    {%- if is_rebase -%}
        {%- do trueup.require_ticks(commands, is_reclocked) -%}
        {%- do trueup.drop_shard(changelog, state) -%}
    {%- endif -%}
    {%- set order_type = (described | selectattr('name', 'eq', '_order') | first).type -%}
    {%- do trueup.create_shard(
        commands, changelog, target_relation, state, unique_key, columns, order_type
    ) -%}
    {%- if is_reclocked -%}
        {%- do run_query(trueup.reclocked_view_sql(collection, commands, changelog, options)) -%}
        {%- set commands = trueup._session_name(collection, 'reclocked') -%}
    {%- endif -%}
    {%- set frontier = trueup.get_frontier(
        commands, changelog, target_relation, state, is_reclocked, options
    ) -%}
    {%- do trueup.catch_up(collection, changelog, state, unique_key, frontier) -%}

    {%- if frontier.upper == frontier.lower -%}
        {%- if frontier.has_leftover -%}
            {%- do run_query('delete from ' ~ target_relation ~ ' where true') -%}
        {%- endif -%}
        {%- do trueup._no_op('up to date at ' ~ frontier.lower) -%}
    {%- else -%}
        {%- do trueup.require_same_key(changelog, unique_key) -%}
        {%- do trueup.require_same_order(changelog, order_type) -%}
        {%- set shard_columns = trueup.evolve_shard(
            changelog, state, unique_key, columns, options
        ) -%}
        {%- do run_query(trueup.declare_frontier_sql(collection, frontier)) -%}
        {%- do run_query(trueup.input_view_sql(
            collection, commands, unique_key, shard_columns, columns, extras, options
        )) -%}
        {%- do run_query(trueup.steps_view_sql(
            collection, state, unique_key, trueup._value_names(shard_columns, unique_key), extras,
            frontier.has_truncates, options
        )) -%}
        {%- call statement('main') -%}
            {{ trueup.create_table_sql(target_relation, compiled_code, replace=true) }}
        {%- endcall -%}
        {%- do trueup._report(
            'batch ' ~ frontier.seq ~ ' [' ~ frontier.lower ~ ', ' ~ frontier.upper ~ ')'
        ) -%}
    {%- endif -%}

    {%- do trueup._finish(target_relation) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
