{#-
    Appends the staged batch if the changelog still ends where the batch begins. `select` is that of the model
    (`trueup.changelog`). Returns the result, a dict:

    - `message`, `rows_affected` for dbt's line
    - `code`: that of the line, or `CONFLICT` if another run was first
    - `is_lost`: whether this run has lost its batch and removed it, so that it may stage another one
-#}
{% macro _ensure_appended(collection, select) -%}
    {%- set changelog, batch = collection.changelog, collection.batch -%}
    {%- if trueup._finding(collection, 'idle_at') is not none -%}
        {{ return(trueup._nothing_to_append()) }}
    {%- endif -%}
    {%- set known = trueup._get_known_batch(collection) -%}
    {%- if not known -%}
        {%- do trueup._require_known_changelog(changelog) -%}
    {%- endif -%}
    {%- set staged = known or trueup._get_staged_batch(collection) -%}
    {%- set refusal = trueup._ensure_refused(collection, staged) -%}
    {%- if refusal -%}
        {{ return(refusal) }}
    {%- endif -%}
    {%- if not known -%}
        {#- The session may be another one than that of the run that has staged the batch. -#}
        {%- do trueup._require_exact_merge() -%}
        {%- do trueup._require_isolated(changelog) -%}
    {%- endif -%}
    {%- do trueup._require_few_retractions(collection, staged) -%}
    {%- set columns = known.columns if known else trueup._get_user_columns(changelog) -%}
    {%- if not trueup._finding(collection, 'staged') -%}
        {%- do trueup._require_columns_of_changelog(collection, columns) -%}
    {%- endif -%}
    {#- The statement itself checks the columns and the seal. It writes nothing if another run is first. -#}
    {%- set same_columns = trueup._same_columns_expr(
        batch, changelog, trueup._update_columns(), trueup._update_columns()
    ) -%}
    {%- set checked_batch = trueup._checked_batch_select(
        select ~ '\nwhere ' ~ same_columns, staged, changelog, collection.unique_key, columns
    ) -%}
    {%- do run_query(trueup._append_batch_sql(changelog, checked_batch, staged.seq)) -%}
    {%- set appended = trueup._get_appended_batch(changelog, staged) -%}
    {%- if not appended -%}
        {#- Ask who was first. -#}
        {%- set found = trueup._get_staged_batch(collection) -%}
        {%- if known and (found.seq is none or found.is_appended) -%}
            {{ return(trueup._removed_result(staged)) }}
        {%- endif -%}
        {%- set refusal = trueup._ensure_refused(collection, found) -%}
        {{ return(refusal or trueup._ensure_discarded(
            batch, staged, 'upper mismatch: another run came before batch ' ~ staged.seq
            ~ ' was appended; nothing of it is written'
        )) }}
    {%- elif known -%}
        {%- do trueup._keep_finding(collection, 'tail', {
            'applied_seq': staged.seq - 1, 'last_seq': staged.seq, 'updates_ahead': appended.rows_written,
            'records_indexed': appended.records_indexed, 'takes_back': known.takes_back
        }) -%}
    {%- endif -%}
    {{ return({
        'code': 'OK',
        'message': 'batch ' ~ staged.seq ~ ': ' ~ appended.updates_staged
            ~ (' update, upper ' if appended.updates_staged == 1 else ' updates, upper ') ~ staged.upper,
        'rows_affected': appended.updates_staged,
    }) }}
{%- endmacro %}


{#- Raises if the changelog has got other columns since another run staged the batch. -#}
{% macro _require_columns_of_changelog(collection, columns) -%}
    {%- set staged = trueup._get_user_columns(collection.batch) -%}
    {%- if staged != columns -%}
        {%- do trueup._raise_error(
            'The columns of the staged batch ' ~ collection.batch,
            'those of its changelog: ' ~ (columns | map(attribute='name') | join(', ')),
            staged | map(attribute='name') | join(', '),
            'Nothing is appended. Stage the batch again: dbt run -s ' ~ collection.name ~ '_batch+'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    What this run knows of the batch that it has staged, and the `columns` of the changelog. None if this run has
    staged no batch, or if another run has changed the columns since then.
-#}
{% macro _get_known_batch(collection) -%}
    {%- set staged, stored = trueup._finding(collection, 'staged'), trueup._finding(collection, 'stored') -%}
    {%- set columns = trueup._get_user_columns(collection.changelog) if staged and stored -%}
    {{ return(dict(staged, columns=columns) if columns and stored.columns == columns else none) }}
{%- endmacro %}


{#-
    The result of a run that does not append the staged batch; none if the batch may be appended. A batch that
    cannot be appended any more is removed.
-#}
{% macro _ensure_refused(collection, staged) -%}
    {%- if staged.seq is none or staged.is_appended -%}
        {{ return(trueup._nothing_to_append()) }}
    {%- elif trueup._var('trueup_read_only') -%}
        {{ return({
            'code': 'NOTICE', 'message': 'read only: batch ' ~ staged.seq ~ ' is staged, not appended'
        }) }}
    {%- elif trueup._get_is_of_another_run(collection, staged) -%}
        {{ return(trueup._other_run_result(
            staged, has_staged=trueup._finding(collection, 'staged') is not none
        )) }}
    {%- elif staged.mismatch -%}
        {{ return(trueup._ensure_discarded(collection.batch, staged, staged.mismatch)) }}
    {%- endif -%}
{%- endmacro %}


{#- The result of a run that finds no batch to append. -#}
{% macro _nothing_to_append() -%}
    {{ return({'code': 'NOOP', 'message': 'nothing to append'}) }}
{%- endmacro %}
