{#-
    Append: step 4 of a run. Appends the staged batch if the changelog still ends where the batch begins. A
    batch that is already appended is left alone. Another batch in its place is a conflict.
-#}
{% materialization trueup_changelog, adapter='spark' %}
    {#- 1. Read the options, and refuse bad settings. -#}
    {%- set collection = trueup._collection('changelog') -%}
    {%- set on_conflict = collection.options.on_conflict -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- do trueup._require_not_deferred(collection.name, ['batch']) -%}
    {%- if should_full_refresh() or trueup._is_rebase() -%}
        {%- do trueup._require_rebase(collection.name) -%}
    {%- endif -%}

    {{ run_hooks(pre_hooks) }}

    {#- 2. Check that the tables exist. -#}
    {%- for relation in [collection.batch, target_relation] -%}
        {%- do trueup._require_made(collection.name, relation, by='batch') -%}
    {%- endfor -%}
    {#- 3. Append the staged batch. If another run was first, stage and append again if the option says so. -#}
    {%- set result = trueup._ensure_appended(collection, compiled_code) -%}
    {%- if on_conflict == 'retry' -%}
        {%- set result = trueup._ensure_retried(collection, compiled_code, result, attempts=3) -%}
    {%- endif -%}
    {#- 4. Report the result. -#}
    {%- if result.code == 'CONFLICT' -%}
        {%- do trueup._report_conflict(result.message, on_conflict) -%}
    {%- else -%}
        {%- do trueup._report_outcome(result) -%}
    {%- endif -%}

    {#- 5. Set grants and docs, drop the session objects, and run the hooks. -#}
    {%- do trueup._ensure_grants_and_docs(target_relation) -%}
    {%- do trueup._ensure_no_session_objects() -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#-
    The result of an append, after up to `attempts` further ones. If another run was first, this run plans and
    stages again, from where the changelog ends now. A batch that another run has staged is left to that run.

    To stage, the options of the batch model count. With corrections it does not stage again: they need a new
    comparison.
-#}
{% macro _ensure_retried(collection, select, result, attempts) -%}
    {%- set options = trueup._sibling_options(collection, 'batch') -%}
    {%- if not result.get('is_lost') or attempts == 0 or options.late == 'correct' -%}
        {{ return(result) }}
    {%- endif -%}
    {#- The other run may have changed the columns, too. -#}
    {%- do trueup._keep_finding(collection, 'stored', none) -%}
    {%- set staged = trueup._ensure_staged_batch(dict(collection, options=options)) -%}
    {%- if staged.code != 'OK' -%}
        {{ return({
            'code': 'NOOP', 'message': 'nothing to append: another run was first, and ' ~ staged.message
        }) }}
    {%- endif -%}
    {%- set again = trueup._ensure_appended(collection, select) -%}
    {%- if again.code == 'OK' -%}
        {%- do again.update({'message': again.message ~ '; staged again, because another run was first'}) -%}
    {%- endif -%}
    {{ return(trueup._ensure_retried(collection, select, again, attempts - 1)) }}
{%- endmacro %}
