{#-
    Append: step 4 of a run. Appends the staged batch if the changelog still ends where the batch
    begins; a batch that is there already is left alone, another one in its place is an error.
-#}
{% materialization trueup_changelog, adapter='spark' %}
    {%- set collection = trueup._collection_of('changelog') -%}
    {%- set options = trueup._options(collection) -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set batch = trueup._sibling(collection, 'batch') -%}
    {%- do trueup._require_not_deferred(collection, ['batch']) -%}
    {%- if should_full_refresh() -%}
        {%- do trueup._require_rebase(collection) -%}
    {%- endif -%}

    {{ run_hooks(pre_hooks) }}

    {%- for relation in [batch, target_relation] -%}
        {%- do trueup._require_made(collection, relation, by='batch') -%}
    {%- endfor -%}
    {%- set staged = trueup.get_staged_batch(target_relation, batch) -%}
    {%- if staged.seq is none or staged.is_appended -%}
        {%- do trueup._no_op('nothing to append') -%}
    {%- elif trueup._var('trueup_read_only') -%}
        {%- do trueup._no_op('read only: batch ' ~ staged.seq ~ ' is staged, not appended') -%}
    {%- elif trueup._is_of_another_run(collection, batch, staged) -%}
        {%- do trueup._leave_to_another_run(staged, options) -%}
    {%- elif staged.mismatch and options.on_conflict == 'skip' -%}
        {%- do trueup._no_op('skipped: ' ~ staged.mismatch) -%}
    {%- elif staged.mismatch -%}
        {%- do trueup.discard_lost_batch(batch, staged) -%}
        {%- do exceptions.raise_compiler_error(staged.mismatch) -%}
    {%- else -%}
        {%- do trueup.require_few_retractions(collection, batch, staged, options) -%}
        {%- set same_columns = trueup._same_columns_expr(
            batch, target_relation, trueup._update_columns(), trueup._update_columns()
        ) -%}
        {%- set checked_batch = trueup.select_checked_batch(
            compiled_code ~ '\nwhere ' ~ same_columns, staged, target_relation,
            trueup._unique_key('changelog'), trueup.get_shard_columns(target_relation)
        ) -%}
        {%- call statement('main') -%}
            {#- What becomes of a lost race is said below, once its batch is thrown away. -#}
            {{ trueup.append_batch_sql(target_relation, checked_batch, on_conflict='skip') }}
        {%- endcall -%}
        {%- if not trueup.is_appended(target_relation, staged.batch_id) -%}
            {%- do trueup._report_lost(batch, staged, options) -%}
        {%- else -%}
            {%- do trueup._report(
                'batch ' ~ staged.seq ~ ': ' ~ staged.updates_staged ~ ' updates, upper '
                ~ staged.upper
            ) -%}
        {%- endif -%}
    {%- endif -%}

    {%- do trueup._finish(target_relation) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#-
    Whether this run staged batches, too, but the one that is staged is not its own: it had nothing to
    stage, or another run has replaced its batch. Such a batch is left to the run that staged it. A run
    of the changelog without the batch appends what is staged.
-#}
{% macro _is_of_another_run(collection, batch, staged) -%}
    {%- set batch_model = 'model.' ~ model.package_name ~ '.' ~ collection ~ '_batch' -%}
    {{ return(
        batch_model in selected_resources
        and staged.batch_id != invocation_id
        and not trueup.is_approved(batch, staged.batch_id)
    ) }}
{%- endmacro %}


{#-
    What is staged, against where the changelog ends. A dict: `seq`, `lower`, `upper`, `batch_id`,
    `updates_staged` of the staged batch (none where nothing is staged), `is_appended`,
    `is_from_now`, whether it was staged since this run began, `records_indexed` before it, and
    `mismatch`, the message of a batch that does not continue the changelog, else none.
-#}
{% macro get_staged_batch(changelog, batch) -%}
    {{ return(run_query(trueup.staged_batch_sql(changelog, batch)).rows[0].dict()) }}
{%- endmacro %}


{#- The select behind `get_staged_batch`: one row. -#}
{% macro staged_batch_sql(changelog, batch) -%}
with

progress_rows as (

    select
        'batch' as _table,
        _seq,
        _lower,
        _upper,
        _batch_id,
        _statistics.updates_staged as updates_staged,
        _statistics.minted_at as minted_at,
        null as records_indexed
    from {{ batch }}
    where _kind = 'progress'
    union all
    select
        'changelog' as _table,
        _seq,
        null as _lower,
        _upper,
        _batch_id,
        null as updates_staged,
        null as minted_at,
        _statistics.records_indexed as records_indexed
    from {{ changelog }}
    where _kind = 'progress'

),

added_up as (

    select
        {% for table, name in [('batch', 'staged'), ('changelog', 'appended')] -%}
        max_by(
            struct(
                _seq, _lower, _upper, _batch_id, updates_staged, minted_at, records_indexed
            ),
            _seq
        ) filter (where _table = '{{ table }}') as {{ name }},
        {% endfor -%}
        collect_set(case when _table = 'changelog' then _batch_id end) as _batch_ids
    from progress_rows

)

select
    staged._seq as seq,
    staged._lower as lower,
    staged._upper as upper,
    staged._batch_id as batch_id,
    staged.updates_staged,
    coalesce(array_contains(_batch_ids, staged._batch_id), false) as is_appended,
    coalesce(staged.minted_at >= timestamp_millis({{ trueup._milliseconds(run_started_at) }}), false)
        as is_from_now,
    coalesce(appended.records_indexed, 0) as records_indexed,
    case
        when staged._seq <> coalesce(appended._seq, 0) + 1 or staged._lower <> appended._upper then
            {{ trueup.upper_mismatch_expr(
                seq='staged._seq', lower='staged._lower',
                upper="coalesce(cast(appended._upper as string), 'none')"
            ) }}
    end as mismatch
from added_up
{%- endmacro %}


{#- Whether the changelog has a batch. -#}
{% macro is_appended(changelog, batch_id) -%}
    {%- set query -%}
select count(*)
from {{ changelog }}
where _kind = 'progress' and _batch_id = {{ trueup._literal(batch_id) }}
    {%- endset -%}
    {{ return(run_query(query).rows[0][0] > 0) }}
{%- endmacro %}


{#-
    Leaves a batch to the run that staged it. If that was after this run began, it may have replaced the
    batch of this run: that is an error, unless the option `on_conflict` skips it.
-#}
{% macro _leave_to_another_run(staged, options) -%}
    {%- set message = 'batch moved: another run staged batch ' ~ staged.seq
        ~ ' after this run began; nothing is appended' -%}
    {%- if not staged.is_from_now -%}
        {%- do trueup._no_op(
            'nothing to append: another run staged batch ' ~ staged.seq ~ ', and this one nothing'
        ) -%}
    {%- elif options.on_conflict == 'fail' -%}
        {%- do exceptions.raise_compiler_error(message ~ '; run again') -%}
    {%- else -%}
        {%- do trueup._no_op('skipped: ' ~ message) -%}
    {%- endif -%}
{%- endmacro %}


{#- Says that another run came first: an error, unless the option `on_conflict` skips it. -#}
{% macro _report_lost(batch, staged, options) -%}
    {%- do trueup.discard_lost_batch(batch, staged) -%}
    {%- set message = 'upper mismatch: another run came before batch ' ~ staged.seq
        ~ ' was appended; nothing of it is written' -%}
    {%- if options.on_conflict == 'fail' -%}
        {%- do exceptions.raise_compiler_error(message ~ '; run again') -%}
    {%- endif -%}
    {%- do trueup._report('skipped: ' ~ message) -%}
{%- endmacro %}


{#-
    Throws away a batch that was lost to another run: nobody can append it any more. `dbt retry`
    repeats the append alone, and then has nothing to append. What another run has staged since stays.
-#}
{% macro discard_lost_batch(batch, staged) -%}
    {%- do run_query(trueup.unstage_sql(batch, staged.batch_id)) -%}
{%- endmacro %}
