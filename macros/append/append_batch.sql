{#-
    Appends the staged batch if the changelog still ends where the batch begins. `select` is that of the model
    (`trueup.changelog`). Returns the result, a dict:

    - `message`, `rows_affected` for dbt's line
    - `code`: that of the line, or `CONFLICT` if another run was first
    - `is_lost`: whether this run has lost its batch and removed it, so that it may stage another one
-#}
{% macro _ensure_appended(collection, select) -%}
    {%- set changelog, batch = collection.changelog, collection.batch -%}
    {%- set staged = trueup._get_staged_batch(collection)
        if trueup._finding(collection, 'idle_at') is none else {'seq': none} -%}
    {%- if staged.seq is none or staged.is_appended -%}
        {{ return({'code': 'NOOP', 'message': 'nothing to append'}) }}
    {%- elif trueup._var('trueup_read_only') -%}
        {{ return({
            'code': 'NOTICE', 'message': 'read only: batch ' ~ staged.seq ~ ' is staged, not appended'
        }) }}
    {%- elif trueup._get_is_of_another_run(collection, staged) -%}
        {{ return(trueup._other_run_result(staged)) }}
    {%- elif staged.mismatch -%}
        {{ return(trueup._ensure_discarded(batch, staged, staged.mismatch)) }}
    {%- endif -%}
    {%- do trueup._require_few_retractions(collection, staged) -%}
    {#- The statement itself checks the columns and the seal. It writes nothing if another run is first. -#}
    {%- set same_columns = trueup._same_columns_expr(
        batch, changelog, trueup._update_columns(), trueup._update_columns()
    ) -%}
    {%- set checked_batch = trueup._checked_batch_select(
        select ~ '\nwhere ' ~ same_columns, staged, changelog,
        collection.unique_key, trueup._get_user_columns(changelog)
    ) -%}
    {%- do run_query(trueup._append_batch_sql(changelog, checked_batch, staged.seq, on_conflict='skip')) -%}
    {%- if not trueup._get_is_appended(changelog, staged) -%}
        {{ return(trueup._ensure_discarded(
            batch, staged, 'upper mismatch: another run came before batch ' ~ staged.seq
            ~ ' was appended; nothing of it is written'
        )) }}
    {%- endif -%}
    {{ return({
        'code': 'OK',
        'message': 'batch ' ~ staged.seq ~ ': ' ~ staged.updates_staged ~ ' updates, upper ' ~ staged.upper,
        'rows_affected': staged.updates_staged,
    }) }}
{%- endmacro %}
