{#-
    The state, rebuilt from the whole changelog in one commit. `--full-refresh` replaces the state with it,
    a missing state is made from it, and a heal gives a damaged state its rows.

    The updates are consolidated. They must leave one value or none of each key; else the statement fails
    and nothing is written. The aggregate `trueup_consolidate` of the Python module consolidates rows
    written as bytes; GROUP BY does it natively, with the same result. Only `_seq` may differ, in an eager
    collection whose open ticks were corrected.
-#}

{#-
    The select of the rehydrated state. To choose it, this asks whether a batch has written open ticks and, with
    the option `rehydrate: udaf`, for the sizes of the buckets.
-#}
{% macro _get_rehydrated_select(collection, columns) -%}
    {%- do trueup._require_zoned_timestamps() -%}
    {%- set changelog, unique_key = collection.changelog, collection.unique_key -%}
    {%- set options = collection.options -%}
    {%- set keys = trueup._identity_columns(unique_key, columns) -%}
    {%- set values = trueup._value_columns(unique_key, columns) -%}
    {%- if options.rehydrate == 'udaf' and trueup._get_has_aggregate('trueup_consolidate') -%}
        {%- set max_bytes = options.max_group_bytes -%}
        {%- set sizes = trueup._get_bucket_sizes(changelog, keys, values, max_bytes) -%}
        {%- set consolidated = trueup._consolidated_by_udaf_ctes(keys, values, sizes, max_bytes) -%}
    {%- else -%}
        {%- set consolidated = trueup._consolidated_natively_ctes(keys, values) -%}
    {%- endif -%}
    {{ return(trueup._rehydrated_state_select(
        changelog, unique_key, columns, consolidated,
        takes_back=run_query(trueup._has_provisional_history_select(changelog)).rows[0][0]
    )) }}
{%- endmacro %}


{#- Rebuilds the state in the place of the model's own statement. Raises unless the changelog is sound. -#}
{% macro _ensure_rebuilt_state(collection) -%}
    {%- set changelog, unique_key = collection.changelog, collection.unique_key -%}
    {%- set columns = trueup._ensure_widened(changelog) -%}
    {%- do trueup._require_sound_changelog(changelog, unique_key, columns) -%}
    {%- set begun_at = modules.datetime.datetime.now() -%}
    {%- set rehydrated = trueup._get_rehydrated_select(collection, columns) -%}
    {%- call statement('main') -%}
{{ trueup._create_table_sql(
    collection.state, rehydrated, replace=true,
    own_properties=trueup._new_state_properties(unique_key, columns)
) }}
    {%- endcall -%}
    {%- do trueup._keep_rehydration(collection, begun_at) -%}
{%- endmacro %}
