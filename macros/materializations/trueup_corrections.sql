{#-
    Compares the persisted rows with the desired rows, before the batch is staged. A collection by commands
    compares only with `late: correct`. With any other value late commands are part of the log, but not of
    the collection, so there is nothing to compare with. It compares only the keys that can differ.
-#}
{% materialization trueup_corrections, adapter='spark' %}
    {#- 1. Read the options, and refuse bad settings. -#}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set collection = trueup._collection('corrections') -%}
    {%- do trueup._require_not_deferred(
        collection.name, [trueup._source_role(collection.name)]
    ) -%}
    {%- set is_rebase = trueup._is_rebase() -%}
    {%- if is_rebase -%}
        {%- do trueup._require_whole_rebase(collection.name) -%}
    {%- endif -%}

    {%- do trueup._var('trueup_compare') -%}
    {%- set adopted = none if is_rebase else trueup._get_adopted_table(collection) -%}
    {%- set collection = trueup._adopting_collection(collection) if adopted else collection -%}

    {{ run_hooks(pre_hooks) }}

    {#- 2. Verify, heal and compare. Report the result: a comparison without differences writes the table, too. -#}
    {%- set result = trueup._ensure_corrections(collection, compiled_code, adopted, is_rebase) -%}
    {%- if result.is_written -%}
        {%- do trueup._report_result(result.message, code=result.code, rows_affected=result.rows_affected) -%}
    {%- else -%}
        {%- do trueup._report_idle(result.message, code=result.code) -%}
    {%- endif -%}

    {#- 3. Make the table if it is missing. Set grants and docs, drop the session objects, and run the hooks. -#}
    {%- if result.is_written or trueup._ensure_corrections_table(collection) -%}
        {%- do trueup._ensure_grants_and_docs(target_relation) -%}
    {%- endif -%}
    {%- do trueup._ensure_no_session_objects() -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
