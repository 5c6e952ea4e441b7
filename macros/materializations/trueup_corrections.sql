{#-
    Compares the persisted rows with the desired rows, before the batch is staged. A collection by commands
    compares only with `late: correct`. With any other value late commands are part of the log, but not of
    the collection, so there is nothing to compare with. It compares only the keys that can differ.
-#}
{% materialization trueup_corrections, adapter='spark' %}
    {#- 1. Read the options, and refuse bad settings. -#}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set collection = trueup._collection('corrections') -%}
    {%- set options = collection.options -%}
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

    {#- 2. If there is nothing to compare or verify, report that and go to step 7. -#}
    {%- set is_written = false -%}
    {%- if is_rebase and not collection.is_by_select -%}
        {%- do trueup._report_idle(
            'a rebase begins again, nothing is corrected', code='NOTICE'
        ) -%}
    {%- elif options.late != 'correct' and options.verify == 'never' -%}
        {%- do trueup._report_idle(
            'nothing to correct (late: ' ~ options.late ~ ', verify: never)'
        ) -%}
    {%- elif options.late != 'correct' and load_relation(collection.changelog) is none -%}
        {%- do trueup._report_idle('nothing to correct: there is no changelog yet') -%}
    {%- else -%}
        {#-
            3. Catch up: make missing tables, apply the rest of the changelog. Only a comparison also plans:
            to verify the state, nobody has to ask for the log or its columns.
        -#}
        {%- set collection = trueup._ensure_input(collection) if options.late == 'correct' else collection -%}
        {%- if adopted -%}
            {%- do trueup._require_adoptable_log(collection.extras) -%}
        {%- endif -%}
        {%- set plan = trueup._ensure_plan(
            collection, is_rebase=is_rebase, heals=options.verify != 'never'
        ) if options.late == 'correct' else trueup._ensure_progress(collection, heals=true) -%}
        {#- 4. Verify the state, and heal it where needed. -#}
        {%- set columns = trueup._ensure_followed_columns(collection) if options.late == 'correct'
            else trueup._ensure_stored_columns(collection) -%}
        {%- set healed = trueup._ensure_healed(collection, plan, columns) -%}
        {%- if options.late != 'correct' -%}
            {%- do trueup._keep_finding(
                collection, 'progress', dict(plan, applied_seq=plan.last_seq, is_state_lost=false)
            ) -%}
        {%- endif -%}
        {#-
            5. Compare the desired rows with the persisted rows, and write the corrections. Or, in the first
            run, take the rows of a table.
        -#}
        {%- set scope = {'extent': 'all', 'is_second': false} if adopted
            else trueup._ensure_comparison_scope(collection, plan, healed) -%}
        {%- if adopted -%}
            {%- do trueup._ensure_adopted(collection, plan, columns, adopted) -%}
        {%- elif scope.extent -%}
            {%- set plan = trueup._with_tick(plan, options) if collection.is_by_select else plan -%}
            {%- set surplus = trueup._ensure_compared(
                collection, plan, columns, compiled_code, scope, keeps_edits=healed is not none
            ) -%}
        {%- elif not healed -%}
            {%- do trueup._report_idle(
                'nothing to correct' ~ (': no command came late' if options.late == 'correct' else '')
            ) -%}
        {%- endif -%}
        {#- 6. Count the corrections, check them, and report the result. -#}
        {%- set is_written = healed or scope.extent -%}
        {%- if is_written -%}
            {%- set found = trueup._get_correction_counts(collection) -%}
            {%- if collection.is_by_select -%}
                {%- do trueup._ensure_all_accounted_for(collection, surplus, found) -%}
            {%- endif -%}
            {%- do trueup._ensure_comparison_noted(
                collection, scope, found.count, plan.last_seq
            ) -%}
            {%- do trueup._report_result(
                [found.report, healed, plan.get('reason')] | select | join('; '),
                code='OK' if healed or found.count else 'NOOP', rows_affected=found.count
            ) -%}
        {%- endif -%}
    {%- endif -%}

    {#- 7. Make the table if it is missing. Set grants and docs, drop the session objects, and run the hooks. -#}
    {%- if is_written or trueup._ensure_corrections_table(collection) -%}
        {%- do trueup._ensure_grants_and_docs(target_relation) -%}
    {%- endif -%}
    {%- do trueup._ensure_no_session_objects() -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
