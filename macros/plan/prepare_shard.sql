{#-
    Brings the tables of a collection to where a batch can be minted on them: they are made where
    they are missing (after a rebase has dropped them), and the state has all that the changelog
    has; with `heals` a state that is lost is left to be healed. Returns what is known of the
    collection then, as a dict:

    `unique_key`                  the key columns
    `changelog`, `batch`, `state` the tables
    `is_by_select`                whether a select says what the rows are, and not commands
    `commands`                    the commands, with ticks; the rows of a select in their form
    `columns`                     the key and value columns of the commands
    `extras`                      their columns that only some logs have
    `order_type`                  the type of their order
    `frontier`                    what `_get_frontier` returns, and `definition`, a mark of the code
                                  that makes the commands
    `is_state_lost`               whether the state has to be healed
-#}
{% macro _ensure_plan(
    collection, role, options, corrections=none, is_rebase=false, heals=false
) -%}
    {%- set unique_key = trueup._unique_key(role) -%}
    {%- set is_by_select = trueup._is_by_select(collection) -%}
    {%- set commands = trueup._ensure_desired_rows_view(collection, unique_key) if is_by_select
        else trueup._sibling(collection, 'commands') -%}
    {%- set changelog = trueup._sibling(collection, 'changelog') -%}
    {%- set batch = trueup._sibling(collection, 'batch') -%}
    {%- set state = trueup._sibling(collection, 'state') -%}
    {%- set described = trueup._get_columns('select * from ' ~ commands) -%}
    {%- set columns = trueup._user_columns(described) -%}
    {%- set extras = trueup._extra_columns(described) -%}
    {%- set order_type = (described | selectattr('name', 'eq', '_order') | first).type -%}
    {%- set is_reclocked = '_offset' in extras -%}
    {%- do trueup._require_free_name(options.inline_errors, columns) -%}
    {%- if is_rebase -%}
        {%- if is_by_select -%}
            {%- do trueup._require_unique_keys(collection, commands, unique_key) -%}
        {%- else -%}
            {%- do trueup._require_ticks(commands, is_reclocked) -%}
        {%- endif -%}
        {%- do trueup._ensure_dropped(changelog, state) -%}
    {%- endif -%}
    {%- set is_state_missing = heals and load_relation(state) is none
        and load_relation(changelog) is not none and trueup._ensure_lost_state(
            changelog, state, unique_key
        ) -%}
    {%- do trueup._ensure_tables(
        commands, changelog, batch, state, unique_key, columns, order_type
    ) -%}
    {%- set progress = trueup._get_progress(changelog, batch, state, corrections, options) -%}
    {%- do trueup._require_undamaged(changelog, progress.unsealed_seq) -%}
    {%- if is_reclocked -%}
        {%- do trueup._require_no_correction_of_offsets(options) -%}
        {%- set commands = trueup._ensure_reclocked_view(
            collection, commands, changelog, progress
        ) -%}
    {%- endif -%}
    {%- set frontier = trueup._get_frontier(
        none if is_by_select else commands, progress, collection if is_reclocked else none, options,
        trueup._get_upper_expr(corrections, options) if is_by_select else none
    ) -%}
    {%- do frontier.update({
        'definition': trueup._definition(collection, options), 'tick': frontier.lower
    }) -%}
    {%- set is_state_lost = heals and trueup._is_state_lost(not is_state_missing, frontier) -%}
    {%- if not is_state_lost -%}
        {%- do trueup._ensure_caught_up(collection, changelog, state, unique_key, frontier) -%}
    {%- endif -%}
    {{ return({
        'unique_key': unique_key, 'changelog': changelog, 'batch': batch, 'state': state,
        'is_by_select': is_by_select, 'commands': commands, 'columns': columns, 'extras': extras,
        'order_type': order_type,
        'frontier': frontier, 'is_state_lost': is_state_lost,
    }) }}
{%- endmacro %}


{#-
    Makes the state of a changelog that has lost it, empty, so that it is healed as one that has lost all
    its rows, and they are reported. Returns whether it was missing.

    dbt knows the tables that were there when its run began. Another run may have made the state since:
    then this one makes nothing, and the property says so.
-#}
{% macro _ensure_lost_state(changelog, state, unique_key) -%}
    {%- set columns = trueup._ensure_widened(changelog) -%}
    {%- do trueup._require_sound_changelog(changelog, unique_key, columns) -%}
    {%- do trueup._ensure_table(
        state, trueup._unapplied_state_select(changelog, unique_key, columns),
        own_properties={'trueup.made_by': invocation_id}
    ) -%}
    {%- set made_by = run_query('show tblproperties ' ~ state ~ " ('trueup.made_by')").rows[0][1] -%}
    {{ return(made_by == invocation_id) }}
{%- endmacro %}
