{#-
    Catch up, plan, stage: steps 1 to 3 of a run. Replaces the staged batch. The select is that of the model
    (`trueup.batch`). If there is nothing to settle and nothing to write, nothing is staged, and the plan of
    an earlier run with `trueup_read_only` is removed. Any other staged batch stays, because another run may
    be about to append it.
-#}
{% materialization trueup_batch, adapter='spark' %}
    {#- 1. Read the options. -#}
    {%- set collection = trueup._collection('batch') -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set is_rebase = trueup._is_rebase() -%}
    {%- if is_rebase -%}
        {%- do trueup._require_whole_rebase(collection.name) -%}
        {#- In a collection by a select the corrections model has already begun the rebase. -#}
        {%- set is_rebase = not collection.is_by_select -%}
    {%- endif -%}
    {#- 2. Refuse bad settings before anything changes. -#}
    {%- do trueup._require_not_deferred(
        collection.name,
        [trueup._source_role(collection.name)]
        + (['corrections'] if collection.options.late == 'correct' and not is_rebase else [])
    ) -%}
    {%- do trueup._file_format() -%}
    {%- do trueup._given_properties() -%}
    {%- do trueup._var('trueup_until') -%}
    {%- do trueup._var('trueup_read_only') -%}
    {%- do trueup._var('trueup_approve') -%}

    {{ run_hooks(pre_hooks) }}

    {#- 3. Catch up, plan and stage. Report the result. -#}
    {%- set staged = trueup._ensure_staged_batch(collection, compiled_code, is_rebase) -%}
    {%- if is_rebase -%}
        {%- do trueup._ensure_no_corrections(trueup._ensure_input(collection)) -%}
    {%- endif -%}
    {%- do trueup._report_outcome(staged) -%}

    {#- 4. Set grants and docs, drop the session objects, and run the hooks. -#}
    {%- do trueup._ensure_grants_and_docs(target_relation) -%}
    {%- do trueup._ensure_no_session_objects() -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
