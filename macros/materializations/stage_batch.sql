{#-
    Catch up, plan and stage, as the models of the batch and of the changelog do it. Returns what dbt's line
    for the model says: a dict with `message` and `code`. `select` is the compiled select of the batch model,
    or none to make it again.
-#}
{% macro _ensure_staged_batch(collection, select=none, is_rebase=false) -%}
    {%- set takes_corrections = collection.options.late == 'correct' and not is_rebase -%}
    {#- 1. Find the corrections that the batch takes in, and the table that it adopts. -#}
    {%- set corrections = collection.corrections if takes_corrections else none -%}
    {%- do trueup._require_same_late(collection) -%}
    {%- if takes_corrections -%}
        {%- do trueup._require_made(collection.name, corrections, by='corrections') -%}
    {%- endif -%}
    {%- set adopted = none if is_rebase else trueup._get_adopted_table(collection) -%}
    {%- set collection = trueup._adopting_collection(collection) if adopted else collection -%}
    {#- 2. Catch up and plan: make missing tables, apply the rest of the changelog, choose the ticks. -#}
    {%- set collection = trueup._ensure_input(collection) -%}
    {%- if is_rebase -%}
        {%- do trueup._require_accepted_log(collection) -%}
    {%- endif -%}
    {%- set comparison = trueup._get_comparison(corrections) if takes_corrections else none -%}
    {%- set plan = trueup._ensure_plan(collection, corrections, is_rebase) -%}
    {%- set collection = dict(collection, commands=plan.commands) -%}
    {%- if takes_corrections and not collection.is_by_select -%}
        {%- set plan = trueup._with_compared_commands(plan, comparison) -%}
    {%- endif -%}
    {%- if plan.last_seq == 0 and not adopted and not is_rebase -%}
        {%- do trueup._require_no_begun_adoption(collection.name) -%}
    {%- endif -%}
    {%- if takes_corrections and plan.last_seq == 0 -%}
        {%- do trueup._require_adopted_corrections(collection, comparison, adopted) -%}
    {%- endif -%}
    {%- set note = trueup._get_log_note(collection, plan) -%}
    {%- set late_note = trueup._late_note(collection, plan) if note is none else none -%}
    {%- set plan = trueup._with_adoption(plan) if adopted else plan -%}
    {#- 3. If an approved batch is staged or there is nothing to do, stage nothing. -#}
    {%- set idle = {
        'message': [trueup._idle_message(plan, collection.options, note), late_note] | select | join('; '),
        'code': trueup._idle_code(plan, note)
    } -%}
    {%- set leftover = plan.leftover_batch_id -%}
    {%- if leftover is not none and trueup._get_is_still_approved(collection, leftover) -%}
        {{ return({
            'message': 'batch ' ~ leftover ~ ' was staged before, and is approved', 'code': 'NOTICE'
        }) }}
    {%- elif trueup._is_idle(plan) -%}
        {#- The staged batch is a plan of a dry run, or it belongs to the history that a rebase has dropped. -#}
        {%- if leftover is not none and (plan.is_leftover_read_only or is_rebase) -%}
            {%- do run_query(trueup._unstage_sql(collection.batch, leftover)) -%}
        {%- elif leftover is none -%}
            {%- do trueup._keep_finding(collection, 'idle_at', plan.last_seq) -%}
        {%- endif -%}
        {{ return(idle) }}
    {%- endif -%}
    {#-
        4. Stage: replace the staged batch. Remove it again if it is empty or does not fit its corrections. A batch
        that ends the provisional updates stays, even if it is empty: its progress row says that there are none.
    -#}
    {%- set is_folded_natively = trueup._ensure_batch_table(collection, plan, select, takes_corrections) -%}
    {%- set ends_provisional = plan.has_provisional and plan.open_upper == plan.upper -%}
    {%- if plan.upper == plan.lower and not ends_provisional and trueup._get_staged_count(collection.batch) == 0 -%}
        {%- do run_query(trueup._unstage_sql(collection.batch, invocation_id)) -%}
        {{ return(idle) }}
    {%- endif -%}
    {%- set doubt = trueup._get_state_doubt(collection, plan) -%}
    {%- if doubt -%}
        {%- do run_query(trueup._unstage_sql(collection.batch, invocation_id)) -%}
        {%- do exceptions.raise_compiler_error(
            'state moved: ' ~ doubt ~ '; nothing is staged, run again from '
            ~ collection.name ~ '_corrections on'
        ) -%}
    {%- elif takes_corrections and trueup._get_comparison(corrections) != comparison -%}
        {#- The plan and the corrections may come from two different comparisons. -#}
        {%- do run_query(trueup._unstage_sql(collection.batch, invocation_id)) -%}
        {{ return({'message': 'skipped: another run compared at the same moment', 'code': 'NOTICE'}) }}
    {%- endif -%}
    {#- 5. Keep what the append of this run needs, and report the batch. -#}
    {%- do trueup._keep_finding(collection, 'staged', {
        'seq': plan.seq, 'lower': plan.lower, 'upper': plan.upper, 'batch_id': invocation_id,
        'is_appended': false, 'mismatch': none, 'records_indexed': plan.records_indexed,
        'takes_back': plan.has_provisional
    }) -%}
    {%- set parts = [
        'batch ' ~ plan.seq ~ ' [' ~ plan.lower ~ ', ' ~ plan.upper ~ ')',
        'adopts ' ~ adopted if adopted,
        trueup._commands_note(plan),
        trueup._waiting_note(plan, collection.options),
        late_note,
        'folded natively: the session has no Python aggregates' if is_folded_natively,
        note,
    ] -%}
    {{ return({'message': parts | select | join('; '), 'code': 'OK'}) }}
{%- endmacro %}
