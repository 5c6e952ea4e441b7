{#-
    Append: step 4 of a run. Appends the staged batch if the changelog still ends where the batch
    begins; a batch that is there already is left alone, another one in its place is an error.
-#}
{% materialization trueup_changelog, adapter='spark' %}
    {%- set collection = trueup._collection_of('changelog') -%}
    {%- set options = trueup._options(collection) -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set batch = trueup._sibling(collection, 'batch') -%}
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
    {%- elif staged.mismatch and options.on_conflict == 'skip' -%}
        {%- do trueup._no_op('skipped: ' ~ staged.mismatch) -%}
    {%- elif staged.mismatch -%}
        {%- do exceptions.raise_compiler_error(staged.mismatch) -%}
    {%- else -%}
        {%- do trueup.require_few_retractions(collection, batch, staged, options) -%}
        {#- Other runs stage into the same table: what is appended is what was looked at. -#}
        {%- set own_batch = 'select *\nfrom (\n' ~ compiled_code ~ '\n)\nwhere _batch_id = '
            ~ trueup._literal(staged.batch_id) -%}
        {%- call statement('main') -%}
            {{ trueup.append_batch_sql(target_relation, own_batch, options.on_conflict) }}
        {%- endcall -%}
        {%- if not trueup.is_appended(target_relation, staged.batch_id) -%}
            {%- do trueup._report_lost(staged, options) -%}
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
    What is staged, against where the changelog ends. A dict: `seq`, `upper`, `batch_id`,
    `updates_staged` of the staged batch (none where nothing is staged), `is_appended`,
    `records_indexed` before it, and `mismatch`, the message of a batch that does not continue the
    changelog, else none.
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
        _statistics.records_indexed as records_indexed
    from {{ changelog }}
    where _kind = 'progress'

),

added_up as (

    select
        {% for table, name in [('batch', 'staged'), ('changelog', 'appended')] -%}
        max_by(struct(_seq, _lower, _upper, _batch_id, updates_staged, records_indexed), _seq)
            filter (where _table = '{{ table }}') as {{ name }},
        {% endfor -%}
        collect_set(case when _table = 'changelog' then _batch_id end) as _batch_ids
    from progress_rows

)

select
    staged._seq as seq,
    staged._upper as upper,
    staged._batch_id as batch_id,
    staged.updates_staged,
    coalesce(array_contains(_batch_ids, staged._batch_id), false) as is_appended,
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


{#- Says that another run came first: an error, unless the option `on_conflict` skips it. -#}
{% macro _report_lost(staged, options) -%}
    {%- set message = 'upper mismatch: another run came before batch ' ~ staged.seq
        ~ ' was appended; nothing of it is written' -%}
    {%- if options.on_conflict == 'fail' -%}
        {%- do exceptions.raise_compiler_error(message ~ '; run again') -%}
    {%- endif -%}
    {%- do trueup._report('skipped: ' ~ message) -%}
{%- endmacro %}
