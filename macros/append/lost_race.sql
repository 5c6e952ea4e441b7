{#-
    Whether this run also built the batch model, but the staged batch belongs to another run. Either this
    run had nothing to stage, or another run has replaced its batch. Such a batch is left to the run that
    staged it. A run that builds only the changelog appends any staged batch.
-#}
{% macro _get_is_of_another_run(collection, staged) -%}
    {{ return(
        trueup._model_id(collection.name ~ '_batch') in selected_resources
        and staged.batch_id != invocation_id
        and not trueup._get_is_approved(collection.batch, staged.batch_id)
    ) }}
{%- endmacro %}


{#-
    The result of a run that leaves a batch to the run that staged it. It is a conflict in two cases: this run has
    staged a batch, which the other run has replaced (`has_staged`), or the other batch was planned after this run
    began.
-#}
{% macro _other_run_result(staged, has_staged) -%}
    {%- if has_staged or staged.is_from_now -%}
        {{ return({
            'code': 'CONFLICT', 'message': 'batch moved: another run staged batch ' ~ staged.seq
            ~ ' after this run began; nothing is appended'
        }) }}
    {%- endif -%}
    {{ return({
        'code': 'NOOP',
        'message': 'nothing to append: another run staged batch ' ~ staged.seq
        ~ ', and this run staged nothing'
    }) }}
{%- endmacro %}


{#- The result of a run whose staged batch is gone: somebody removed it, or another run replaced and appended it. -#}
{% macro _removed_result(staged) -%}
    {{ return({
        'code': 'CONFLICT', 'message': 'batch moved: another run removed batch ' ~ staged.seq
        ~ ' after this run staged it; nothing of it is written', 'is_lost': true
    }) }}
{%- endmacro %}


{#-
    Removes a batch that lost to another run: nobody can append it any more. `dbt retry` repeats only the
    append, and then has nothing to append. A batch that another run has staged since then stays. Returns the
    result of the append.
-#}
{% macro _ensure_discarded(batch, staged, message) -%}
    {%- do run_query(trueup._unstage_sql(batch, staged.batch_id)) -%}
    {{ return({'code': 'CONFLICT', 'message': message, 'is_lost': true}) }}
{%- endmacro %}


{#- Reports a conflict: it is an error, unless the option `on_conflict` skips it. -#}
{% macro _report_conflict(message, on_conflict) -%}
    {%- if on_conflict != 'skip' -%}
        {%- do exceptions.raise_compiler_error(message ~ '; run again') -%}
    {%- endif -%}
    {%- do trueup._report_idle('skipped: ' ~ message, code='NOTICE') -%}
{%- endmacro %}
