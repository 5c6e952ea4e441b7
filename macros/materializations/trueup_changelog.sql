{#-
    Append: step 4 of a run. Appends the staged batch if the changelog still ends where the batch begins. A
    batch that is already appended is left alone. Another batch in its place is an error.
-#}
{% materialization trueup_changelog, adapter='spark' %}
    {#- 1. Read the options, and refuse bad settings. -#}
    {%- set collection = trueup._collection('changelog') -%}
    {%- set options, batch = collection.options, collection.batch -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- do trueup._require_not_deferred(collection.name, ['batch']) -%}
    {%- if should_full_refresh() -%}
        {%- do trueup._require_rebase(collection.name) -%}
    {%- endif -%}

    {{ run_hooks(pre_hooks) }}

    {#-
        2. Read the staged batch, and compare it with the end of the changelog. If this run has found nothing to
        stage, there is none.
    -#}
    {%- for relation in [batch, target_relation] -%}
        {%- do trueup._require_made(collection.name, relation, by='batch') -%}
    {%- endfor -%}
    {%- set staged = trueup._get_staged_batch(collection)
        if trueup._finding(collection, 'idle_at') is none else {'seq': none} -%}
    {#- 3. If there is nothing to append, or the batch must not be appended, report that and go to step 7. -#}
    {%- if staged.seq is none or staged.is_appended -%}
        {%- do trueup._report_idle('nothing to append') -%}
    {%- elif trueup._var('trueup_read_only') -%}
        {%- do trueup._report_idle(
            'read only: batch ' ~ staged.seq ~ ' is staged, not appended', code='NOTICE'
        ) -%}
    {%- elif trueup._get_is_of_another_run(collection, staged) -%}
        {%- do trueup._report_other_run(staged, options) -%}
    {%- elif staged.mismatch and options.on_conflict == 'skip' -%}
        {%- do trueup._report_idle('skipped: ' ~ staged.mismatch, code='NOTICE') -%}
    {%- elif staged.mismatch -%}
        {%- do trueup._ensure_discarded(batch, staged) -%}
        {%- do exceptions.raise_compiler_error(staged.mismatch) -%}
    {%- else -%}
        {#- 4. Refuse a batch with too many retractions. -#}
        {%- do trueup._require_few_retractions(collection, staged) -%}
        {#- 5. Append the batch. The statement itself checks the columns and the seal. -#}
        {%- set same_columns = trueup._same_columns_expr(
            batch, target_relation, trueup._update_columns(), trueup._update_columns()
        ) -%}
        {%- set checked_batch = trueup._checked_batch_select(
            compiled_code ~ '\nwhere ' ~ same_columns, staged, target_relation,
            collection.unique_key, trueup._get_user_columns(target_relation)
        ) -%}
        {%- call statement('main') -%}
            {#-
                The merge skips a lost race. `_report_lost_race` reports it below, after it has removed the
                lost batch.
            -#}
            {{ trueup._append_batch_sql(
                target_relation, checked_batch, staged.seq, on_conflict='skip'
            ) }}
        {%- endcall -%}
        {#- 6. Report the result: the batch is appended, or another run was first. -#}
        {%- if not trueup._get_is_appended(target_relation, staged) -%}
            {%- do trueup._report_lost_race(batch, staged, options) -%}
        {%- else -%}
            {%- do trueup._report_result(
                'batch ' ~ staged.seq ~ ': ' ~ staged.updates_staged ~ ' updates, upper '
                ~ staged.upper,
                rows_affected=staged.updates_staged
            ) -%}
        {%- endif -%}
    {%- endif -%}

    {#- 7. Set grants and docs, and run the hooks. -#}
    {%- do trueup._ensure_grants_and_docs(target_relation) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
