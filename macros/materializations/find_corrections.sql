{#-
    Verify, heal and compare, as the model of the corrections does it. Returns what dbt's line for the model says: a
    dict with `message`, `code` and `rows_affected`; and `is_written`, whether the table of the corrections was
    written. `select` is the compiled select of the model. `adopted` is the table that the collection adopts, or none.
-#}
{% macro _ensure_corrections(collection, select, adopted, is_rebase) -%}
    {%- set options, corrects = collection.options, collection.options.late == 'correct' -%}
    {#- 1. If there is nothing to compare or verify, do nothing. -#}
    {%- set idle = {'code': 'NOOP', 'rows_affected': none, 'is_written': false} -%}
    {%- if is_rebase and not collection.is_by_select -%}
        {{ return(dict(idle, message='a rebase begins again, nothing is corrected', code='NOTICE')) }}
    {%- elif not corrects and options.verify == 'never' -%}
        {{ return(dict(idle, message='nothing to correct (late: ' ~ options.late ~ ', verify: never)')) }}
    {%- elif not corrects and load_relation(collection.changelog) is none -%}
        {{ return(dict(idle, message='nothing to correct: there is no changelog yet')) }}
    {%- endif -%}
    {#-
        2. Catch up: make missing tables, apply the rest of the changelog. Only a comparison also plans:
        to verify the state, nobody has to ask for the log or its columns.
    -#}
    {%- set collection = trueup._ensure_input(collection) if corrects else collection -%}
    {%- if adopted -%}
        {%- do trueup._require_adoptable_log(collection.extras) -%}
    {%- endif -%}
    {%- set plan = trueup._ensure_plan(
        collection, is_rebase=is_rebase, heals=options.verify != 'never'
    ) if corrects else trueup._ensure_progress(collection, heals=true) -%}
    {#- 3. Verify the state, and heal it where needed. -#}
    {%- set columns = trueup._ensure_followed_columns(collection) if corrects
        else trueup._ensure_stored_columns(collection) -%}
    {%- set healed = trueup._ensure_healed(collection, plan, columns) -%}
    {%- if not corrects -%}
        {%- do trueup._keep_finding(
            collection, 'progress', dict(plan, applied_seq=plan.last_seq, is_state_lost=false)
        ) -%}
    {%- endif -%}
    {#-
        4. Compare the desired rows with the persisted rows, and write the corrections. Or, in the first
        run, take the rows of a table.
    -#}
    {%- set scope = {'extent': 'all', 'is_second': false} if adopted
        else trueup._ensure_comparison_scope(collection, plan, healed) -%}
    {%- if not (healed or scope.extent) -%}
        {{ return(dict(idle, message='nothing to correct' ~ (': no command came late' if corrects else ''))) }}
    {%- endif -%}
    {%- if adopted -%}
        {%- do trueup._ensure_adopted(collection, plan, columns, adopted) -%}
    {%- elif scope.extent -%}
        {%- set plan = trueup._with_tick(plan, options) if collection.is_by_select else plan -%}
        {%- set surplus = trueup._ensure_compared(
            collection, plan, columns, select, scope, keeps_edits=healed is not none
        ) -%}
    {%- endif -%}
    {#- 5. Count the corrections, and check them. -#}
    {%- set found = trueup._get_correction_counts(collection) -%}
    {%- if collection.is_by_select -%}
        {%- do trueup._ensure_all_accounted_for(collection, surplus, found) -%}
    {%- endif -%}
    {%- do trueup._ensure_comparison_noted(collection, scope, found.count, plan.last_seq) -%}
    {{ return({
        'message': [found.report, healed, plan.get('reason')] | select | join('; '),
        'code': 'OK' if healed or found.count else 'NOOP',
        'rows_affected': found.count,
        'is_written': true,
    }) }}
{%- endmacro %}
