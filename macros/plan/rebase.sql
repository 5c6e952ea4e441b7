{#- Drops the tables that a rebase makes again. Before that, it checks what could stop the new batch. -#}

{#-
    Drops the changelog and the state of a collection for a rebase. Raises before it drops anything if the
    input could not make them again.
-#}
{% macro _ensure_dropped_for_rebase(collection) -%}
    {%- do trueup._require_storable_columns(collection.command_columns) -%}
    {%- do trueup._require_single_read() -%}
    {%- do trueup._require_zoned_timestamps() -%}
    {%- do trueup._require_free_view(collection.name) -%}
    {%- if collection.is_by_select -%}
        {%- do trueup._require_unique_keys(collection) -%}
    {%- else -%}
        {%- do trueup._require_ticks(collection) -%}
        {%- do trueup._require_input_upper(collection) -%}
    {%- endif -%}
    {#-
        The state goes first: if the run is killed now, the next one rebuilds it. It goes once more after the
        changelog, because another run may have rebuilt it in between.
    -#}
    {%- for relation in [collection.state, collection.changelog, collection.state] -%}
        {%- do run_query(trueup._drop_table_sql(relation, trueup._file_format())) -%}
        {%- do adapter.cache_dropped(relation) -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    Raises if Spark cannot compute the option `input_upper`. In a log without ticks the run gives the tick. So one
    command at this tick stands for the log.
-#}
{% macro _require_input_upper(collection) -%}
    {%- set options = collection.options -%}
    {%- set lower = options.as_of or 0 -%}
    {%- if options.input_upper -%}
        {%- do run_query(trueup._measured_log_select(
            trueup._subquery('select ' ~ lower ~ " as _ts, 'upsert' as _op") if '_offset' in collection.extras
                else collection.commands,
            {'last_seq': 0, 'lower': lower, 'settled_before': none, 'last_batch_id': none}, none, options
        )) -%}
    {%- endif -%}
{%- endmacro %}
