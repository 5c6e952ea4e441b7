{#-
    The tables of a collection: changelog, staged batch and state. They are made empty and typed before
    anything is written. So the first run works like every other run.
-#}

{#- Makes the changelog, the staged batch and the state if they are missing. -#}
{% macro _ensure_tables(collection) -%}
    {%- set changelog, state, batch = collection.changelog, collection.state, collection.batch -%}
    {%- set unique_key, columns = collection.unique_key, collection.command_columns -%}
    {%- if load_relation(changelog) is none -%}
        {%- do trueup._require_free_view(collection.name) -%}
        {%- do trueup._require_no_applied_batch(collection) -%}
        {%- do trueup._require_storable_columns(columns) -%}
        {%- do trueup._ensure_table(
            changelog,
            trueup._empty_changelog_select(collection.source, unique_key, columns),
            partition_by='_kind',
            own_properties=trueup._changelog_properties(collection)
        ) -%}
        {%- if load_relation(state) is none -%}
            {%- do trueup._ensure_table(
                state, trueup._unapplied_state_select(changelog, unique_key, columns),
                own_properties=trueup._new_state_properties(unique_key, columns)
            ) -%}
        {%- endif -%}
    {%- endif -%}
    {%- if load_relation(batch) is none -%}
        {%- do trueup._ensure_table(batch, 'select * from ' ~ changelog ~ ' where false') -%}
    {%- endif -%}
    {%- do trueup._ensure_upgraded(collection) -%}
    {%- do trueup._ensure_state(collection) -%}
{%- endmacro %}


{#- Creates a table with its schema if it is missing, and registers it with dbt. -#}
{% macro _ensure_table(relation, select, partition_by=none, own_properties=none) -%}
    {%- do trueup._require_zoned_timestamps() -%}
    {%- do adapter.create_schema(relation) -%}
    {%- do run_query(trueup._create_table_sql(
        relation, select, partition_by=partition_by, own_properties=own_properties
    )) -%}
    {%- do adapter.cache_added(relation) -%}
{%- endmacro %}


{#- Rebuilds the state from the changelog if it is missing. -#}
{% macro _ensure_state(collection) -%}
    {%- set state = collection.state -%}
    {%- if load_relation(state) is none -%}
        {%- set columns = trueup._ensure_sound_columns(collection) -%}
        {%- set begun_at = modules.datetime.datetime.now() -%}
        {%- do trueup._ensure_table(
            state, trueup._get_rehydrated_select(collection, columns),
            own_properties=trueup._new_state_properties(collection.unique_key, columns)
        ) -%}
        {%- do trueup._keep_rehydration(collection, begun_at) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    The columns of a changelog that a missing state is made from. They are widened first. Raises unless the
    changelog is sound and was made with the key of the collection.
-#}
{% macro _ensure_sound_columns(collection) -%}
    {%- set changelog = collection.changelog -%}
    {%- set columns = trueup._ensure_widened(changelog) -%}
    {%- do trueup._require_same_key(collection, trueup._get_properties(changelog)) -%}
    {%- do trueup._require_sound_changelog(changelog, collection.unique_key, columns) -%}
    {{ return(columns) }}
{%- endmacro %}
