{#-
    Schema evolution: how the changelog and the state change when the columns of the commands change. The
    changelog follows the commands as far as allowed, and the state follows the changelog. So even if a run
    is killed in between, the next run brings both up to date.
-#}

{#-
    The key and value columns of the changelog, after it has followed those of the commands. Raises if it
    cannot follow. If another model of this run has found the same columns, nothing is asked: the append compares
    the columns of the batch with those that the changelog has then.
-#}
{% macro _ensure_followed_columns(collection) -%}
    {%- set changelog, stored = collection.changelog, trueup._finding(collection, 'stored') -%}
    {%- set properties = stored.properties if stored else trueup._get_isolated_properties(changelog) -%}
    {%- do trueup._require_same_key(collection, properties) -%}
    {%- do trueup._require_same_order(collection, properties) -%}
    {%- if stored
            and trueup._is_unchanged(trueup._schema_changes(collection.command_columns, stored.columns)) -%}
        {%- set columns = stored.columns -%}
    {%- else -%}
        {%- set columns = trueup._ensure_columns(collection) -%}
        {%- do trueup._keep_finding(collection, 'stored', {'properties': properties, 'columns': columns}) -%}
    {%- endif -%}
    {#- Columns that the commands no longer have are among them. -#}
    {%- do trueup._require_free_name(collection.options.inline_errors, columns) -%}
    {{ return(columns) }}
{%- endmacro %}


{#-
    Changes the tables to the columns of the commands, as far as the option `on_schema_change` allows, and
    returns the resulting key and value columns. It raises before it changes anything.
-#}
{% macro _ensure_columns(collection) -%}
    {%- set changelog, state, options = collection.changelog, collection.state, collection.options -%}
    {%- set stored_columns = trueup._ensure_widened(changelog) -%}
    {%- set changes = trueup._schema_changes(collection.command_columns, stored_columns) -%}
    {%- do trueup._require_evolvable(collection, changes) -%}
    {%- for table in [changelog, state] if changes.widened -%}
        {%- do trueup._require_widenable(table, changes.widened) -%}
    {%- endfor -%}
    {%- if options.on_schema_change == 'ignore' -%}
        {%- do changes.update({'added': []}) -%}
    {%- endif -%}
    {%- if changes.added or changes.widened -%}
        {%- do trueup._require_zoned_timestamps() -%}
    {%- endif -%}
    {%- if changes.added -%}
        {%- do trueup._require_not_in_state(changelog, state, changes.added) -%}
    {%- endif -%}
    {%- do trueup._ensure_table_columns(changelog, changes) -%}
    {%- if changes.added or changes.widened -%}
        {%- set stored_columns = trueup._get_user_columns(changelog) -%}
    {%- endif -%}
    {%- do trueup._require_no_open_widening(changelog, stored_columns) -%}
    {%- do trueup._ensure_state_columns(
        collection, stored_columns, new_names=changes.added | map(attribute='name') | list
    ) -%}
    {{ return(stored_columns) }}
{%- endmacro %}


{#-
    The key and value columns of the changelog as they are, for a model that only reads the tables. The
    state gets the same ones: a killed run may have left it behind.
-#}
{% macro _ensure_stored_columns(collection) -%}
    {%- set changelog = collection.changelog -%}
    {%- set properties = trueup._get_isolated_properties(changelog) -%}
    {%- do trueup._require_same_key(collection, properties) -%}
    {%- set columns = trueup._ensure_widened(changelog) -%}
    {%- do trueup._require_no_open_widening(changelog, columns) -%}
    {%- do trueup._ensure_state_columns(collection, columns) -%}
    {%- do trueup._keep_finding(collection, 'stored', {'properties': properties, 'columns': columns}) -%}
    {{ return(columns) }}
{%- endmacro %}


{#-
    Changes the state to the key and value columns of its changelog. `new_names` are the columns that the changelog
    has got just now. The state may lack another one. If that column has values, somebody has dropped it from the state.
    On Iceberg no snapshot shows that, so the state must be scanned. If it has none, a run was killed before it added
    the column.
-#}
{% macro _ensure_state_columns(collection, stored_columns, new_names=[]) -%}
    {%- set state = collection.state -%}
    {%- set state_columns = trueup._ensure_widened(state) -%}
    {%- set changes = trueup._schema_changes(stored_columns, state_columns) -%}
    {%- do trueup._require_columns_of_state(collection, stored_columns, state_columns, changes) -%}
    {%- set lost = trueup._get_columns_with_values(
        collection.changelog, changes.added | map(attribute='name') | reject('in', new_names) | list
    ) -%}
    {%- if lost -%}
        {%- do trueup._require_scan_in_this_model(collection, lost) -%}
    {%- endif -%}
    {%- set has_dates = 'date' in changes.widened | map(attribute='old_type') -%}
    {%- if lost or has_dates -%}
        {%- do trueup._ensure_scan_forgotten(state) -%}
    {%- endif -%}
    {%- if has_dates -%}
        {#- This rewrites rows, and is no edit of the state that this run has verified. -#}
        {%- do trueup._keep_finding(collection, 'verified_snapshot', none) -%}
    {%- endif -%}
    {%- do trueup._ensure_table_columns(state, changes) -%}
{%- endmacro %}


{#- Adds new columns to a table, and widens the columns whose type is wider now. -#}
{% macro _ensure_table_columns(table, changes) -%}
    {%- for column in changes.added -%}
        {%- do run_query(
            trueup._step_marker('alter') ~ '\nalter table ' ~ table ~ ' add column ' ~ trueup._quoted(column.name) ~ ' '
            ~ trueup._sql_type(column.type)
        ) -%}
    {%- endfor -%}
    {%- for column in changes.widened -%}
        {%- for statement in trueup._begin_widening_sqls(table, column) -%}
            {%- do run_query(statement) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if 'date' in changes.widened | map(attribute='old_type') -%}
        {%- do trueup._require_widened(
            table, trueup._ensure_widened(table), changes.widened
        ) -%}
    {%- endif -%}
{%- endmacro %}
