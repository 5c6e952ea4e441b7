{#-
    Catch up, plan, stage: steps 1 to 3 of a run. Replaces the staged batch. The select is that of the model
    (`trueup.batch`). If there is nothing to settle and nothing to write, nothing is staged, and the plan of
    an earlier run with `trueup_read_only` is removed. Any other staged batch stays, because another run may
    be about to append it.
-#}
{% materialization trueup_batch, adapter='spark' %}
    {#- 1. Read the options. -#}
    {%- set collection = trueup._collection('batch') -%}
    {%- set options = collection.options -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set is_rebase = should_full_refresh() and trueup._var('trueup_rebase') -%}
    {%- if is_rebase -%}
        {%- do trueup._require_whole_rebase(collection.name) -%}
        {#- In a collection by a select the corrections model has already begun the rebase. -#}
        {%- set is_rebase = not collection.is_by_select -%}
    {%- endif -%}
    {%- set takes_corrections = options.late == 'correct' and not is_rebase -%}
    {#- 2. Refuse bad settings before anything changes. -#}
    {%- do trueup._require_not_deferred(
        collection.name,
        [trueup._source_role(collection.name)] + (['corrections'] if takes_corrections else [])
    ) -%}
    {%- do trueup._file_format() -%}
    {%- do trueup._given_properties() -%}
    {%- do trueup._var('trueup_until') -%}
    {%- do trueup._var('trueup_read_only') -%}
    {%- do trueup._var('trueup_approve') -%}

    {{ run_hooks(pre_hooks) }}

    {#- 3. Find the corrections that the batch takes in, and their comparison. -#}
    {%- set corrections = collection.corrections if takes_corrections else none -%}
    {%- if takes_corrections -%}
        {%- do trueup._require_made(collection.name, corrections, by='corrections') -%}
    {%- endif -%}
    {%- set comparison = trueup._get_comparison(corrections) if takes_corrections else none -%}
    {#- 4. Catch up and plan: make missing tables, apply the rest of the changelog, choose the ticks. -#}
    {%- set collection = trueup._ensure_input(collection) -%}
    {%- set plan = trueup._ensure_plan(collection, corrections, is_rebase) -%}
    {%- set collection = dict(collection, commands=plan.commands) -%}
    {%- if takes_corrections and not collection.is_by_select -%}
        {%- set plan = trueup._with_compared_commands(plan, comparison) -%}
    {%- endif -%}

    {#- 5. If an approved batch is staged or there is nothing to do, report that and go to step 8. -#}
    {%- set note = trueup._get_log_note(collection, plan) -%}
    {%- set leftover = plan.leftover_batch_id -%}
    {%- if leftover is not none and trueup._get_is_approved(collection.batch, leftover) -%}
        {%- do trueup._report_idle(
            'batch ' ~ leftover ~ ' was staged before, and is approved', code='NOTICE'
        ) -%}
    {%- elif trueup._is_idle(plan) -%}
        {#-
            The staged batch is a plan of a dry run, or it belongs to the history that a rebase has dropped.
        -#}
        {%- if leftover is not none and (plan.is_leftover_read_only or is_rebase) -%}
            {%- do run_query(trueup._unstage_sql(target_relation, leftover)) -%}
        {%- elif leftover is none -%}
            {%- do trueup._keep_finding(collection, 'idle_at', plan.last_seq) -%}
        {%- endif -%}
        {%- do trueup._report_idle(
            trueup._idle_message(plan, note), code=trueup._idle_code(plan, note)
        ) -%}
    {%- else -%}
        {#- 6. Stage: replace the staged batch. -#}
        {%- set is_snapshot = plan.last_seq == 0 and options.first_batch == 'snapshot' -%}
        {%- if is_snapshot -%}
            {#- The snapshot has no history. So no tick before its last one can be read. -#}
            {%- set plan = dict(
                plan, since=plan.upper - 1,
                takes_last_commands=trueup._can_take_last_commands(collection, plan)
            ) -%}
        {%- endif -%}
        {%- do run_query(trueup._declare_plan_sql(collection.name, plan)) -%}
        {%- set select = compiled_code -%}
        {%- set leaves_open = plan.open_upper > plan.upper -%}
        {%- set cannot_fold = leaves_open and trueup._is_folded_by_udaf(options)
            and not trueup._get_has_aggregate('trueup_provisional') -%}
        {%- if trueup._is_folded_by_udaf(options) and (cannot_fold or not leaves_open) -%}
            {#- There is nothing to fold in Python, or the session has no Python aggregates. -#}
            {%- set collection = dict(collection, options=dict(options, fold='native')) -%}
            {%- set select = trueup._batch_select(collection) -%}
        {%- elif is_snapshot -%}
            {%- set select = trueup._batch_select(
                collection, is_snapshot=true, takes_last=plan.takes_last_commands
            ) -%}
        {%- endif -%}
        {%- do trueup._ensure_batch_views(collection, plan, takes_corrections) -%}
        {%- call statement('main') -%}
            {{ trueup._create_table_sql(target_relation, select, replace=true) }}
        {%- endcall -%}
        {%- do trueup._ensure_no_kept_steps(collection.extras) -%}
        {#- 7. Remove the staged batch if it is empty or does not fit its corrections. Report the result. -#}
        {%- if plan.upper == plan.lower
                and trueup._get_staged_count(target_relation) == 0 -%}
            {%- do run_query(trueup._unstage_sql(target_relation, invocation_id)) -%}
            {%- do trueup._report_result(
                trueup._idle_message(plan, note), code=trueup._idle_code(plan, note)
            ) -%}
        {%- elif takes_corrections and trueup._get_comparison(corrections) != comparison -%}
            {#- The plan and the corrections may come from two different comparisons. -#}
            {%- do run_query(trueup._unstage_sql(target_relation, invocation_id)) -%}
            {%- do trueup._report_result(
                'skipped: another run compared at the same moment', code='NOTICE'
            ) -%}
        {%- else -%}
            {%- do trueup._keep_finding(collection, 'recent_seq', [plan.last_seq, 1] | max) -%}
            {%- set commands_note = trueup._commands_note(plan) -%}
            {%- do trueup._report_result(
                'batch ' ~ plan.seq ~ ' [' ~ plan.lower ~ ', ' ~ plan.upper ~ ')'
                ~ ('; ' ~ commands_note if commands_note)
                ~ ('; folded natively: the session has no Python aggregates' if cannot_fold else '')
                ~ ('; ' ~ note if note)
            ) -%}
        {%- endif -%}
    {%- endif -%}

    {#- 8. Set grants and docs, and run the hooks. -#}
    {%- do trueup._ensure_grants_and_docs(target_relation) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
