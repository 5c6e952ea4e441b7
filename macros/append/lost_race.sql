{#-
    Whether this run also built the batch model, but the staged batch belongs to another run. Either this
    run had nothing to stage, or another run has replaced its batch. Such a batch is left to the run that
    staged it. A run that builds only the changelog appends any staged batch.
-#}
{% macro _get_is_of_another_run(collection, staged) -%}
    {%- set batch_model = 'model.' ~ model.package_name ~ '.' ~ collection.name ~ '_batch' -%}
    {{ return(
        batch_model in selected_resources
        and staged.batch_id != invocation_id
        and not trueup._get_is_approved(collection.batch, staged.batch_id)
    ) }}
{%- endmacro %}


{#-
    Leaves a batch to the run that staged it. If it was staged after this run began, it may have replaced
    the batch of this run. That is an error, unless the option `on_conflict` skips it.
-#}
{% macro _report_other_run(staged, options) -%}
    {%- set message = 'batch moved: another run staged batch ' ~ staged.seq
        ~ ' after this run began; nothing is appended' -%}
    {%- if not staged.is_from_now -%}
        {%- do trueup._report_idle(
            'nothing to append: another run staged batch ' ~ staged.seq ~ ', and this run staged nothing'
        ) -%}
    {%- elif options.on_conflict == 'fail' -%}
        {%- do exceptions.raise_compiler_error(message ~ '; run again') -%}
    {%- else -%}
        {%- do trueup._report_idle('skipped: ' ~ message, code='NOTICE') -%}
    {%- endif -%}
{%- endmacro %}


{#- Reports that another run was first. It is an error, unless the option `on_conflict` skips it. -#}
{% macro _report_lost_race(batch, staged, options) -%}
    {%- do trueup._ensure_discarded(batch, staged) -%}
    {%- set message = 'upper mismatch: another run came before batch ' ~ staged.seq
        ~ ' was appended; nothing of it is written' -%}
    {%- if options.on_conflict == 'fail' -%}
        {%- do exceptions.raise_compiler_error(message ~ '; run again') -%}
    {%- endif -%}
    {%- do trueup._report_result('skipped: ' ~ message, code='NOTICE') -%}
{%- endmacro %}


{#-
    Removes a batch that lost to another run: nobody can append it any more. `dbt retry` repeats only the
    append, and then has nothing to append. A batch that another run has staged since then stays.
-#}
{% macro _ensure_discarded(batch, staged) -%}
    {%- do run_query(trueup._unstage_sql(batch, staged.batch_id)) -%}
{%- endmacro %}
