{#-
    The changelog of a collection as a table of its own, to which each run only appends: the body of a model with
    `trueup.changelog(..., append_only=true)`. Its snapshots are appends, so streams and incremental scans can read it. The
    snapshots of a store are overwrites.

    A run copies the updates of the batches that it has not copied, in one commit. Each row has `_run`, the id of the run that
    wrote its batch. So the table itself says up to which batch it was copied, and from which chain of batches.
-#}
{% materialization trueup_changelog, adapter='spark' %}
    {%- do trueup._require_whole_run() -%}
    {%- set relation = this.incorporate(type='table') -%}
    {%- set node = graph.nodes[model.depends_on.nodes[0]] -%}
    {%- set store = trueup._store_of(ref(node.package_name, node.name)) -%}
    {%- set select = trueup._copied_updates_select(compiled_code, store) -%}
    {{ run_hooks(pre_hooks) }}

    {%- if trueup._var('trueup_read_only') -%}
        {%- do trueup._report_idle('a dry run: nothing is appended') -%}
    {%- else -%}
        {%- set begun = trueup._ensure_changelog_table(relation, store, select) -%}
        {%- set copy = namespace(result=none, appended=0) -%}
        {%- for _ in range(4) if copy.result is none -%}
            {%- set part = trueup._get_part_to_copy(relation, store, begun) -%}
            {%- if not part.updates -%}
                {%- set copy.result = 'appended ' ~ copy.appended ~ ' updates up to batch ' ~ part.newest_seq if copy.appended
                    else 'up to date at batch ' ~ part.newest_seq -%}
            {%- else -%}
                {%- call statement('main') -%}
{{ trueup._append_updates_sql(relation, store, select, part) }}
                {%- endcall -%}
                {%- set copy.appended = copy.appended + part.updates -%}
            {%- endif -%}
        {%- endfor -%}
        {%- if copy.result is none -%}
            {%- do exceptions.raise_compiler_error(
                'upper mismatch: other runs append to ' ~ relation ~ ' at the same moment; run again'
            ) -%}
        {%- elif copy.appended -%}
            {%- do trueup._report_result(copy.result, rows_affected=copy.appended) -%}
        {%- else -%}
            {%- do trueup._report_idle(copy.result) -%}
        {%- endif -%}
        {%- do apply_grants(relation, config.get('grants'), should_revoke=True) -%}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [relation]}) }}
{% endmaterialization %}


{#- The updates with `_run`, the id of the run that wrote their batch, as a select. -#}
{% macro _copied_updates_select(select, store) -%}
select updates.*, batches._run
from {{ trueup._subquery(select) }} as updates
inner join (
    select _seq as _seq_of_run, get_json_object(_batch, '$.run') as _run from {{ store }} where _kind = 'batch'
) as batches on updates._seq = batches._seq_of_run
{%- endmacro %}


{#-
    Makes the table if there is none, and gives it the columns of the store. With `--full-refresh` it begins again, as a copy of
    the history that the store has now. Returns the batch at which it has begun.
-#}
{% macro _ensure_changelog_table(relation, store, select) -%}
    {%- set there = load_relation(relation) -%}
    {%- if there is not none and there.type != 'table' -%}
        {%- do run_query(trueup._step_marker('drop') ~ ' drop view ' ~ relation) -%}
    {%- endif -%}
    {%- set is_new = there is none or there.type != 'table' or should_full_refresh() -%}
    {%- if is_new -%}
        {%- set begun = run_query('select max(_seq) from ' ~ store ~ " where _kind = 'batch'").rows[0][0] | int -%}
        {%- do run_query(trueup._create_table_sql(
            relation, 'select * from ' ~ trueup._subquery(select) ~ ' where false', replace=should_full_refresh(),
            own_properties={'trueup.owner': model.unique_id, 'trueup.begun': begun}
        )) -%}
    {%- else -%}
        {%- set properties = trueup._get_isolated_properties(relation) -%}
        {%- set begun = properties.get('trueup.begun', 0) | int -%}
        {%- do trueup._require_owner(relation, properties, model.unique_id) -%}
        {%- set changes = trueup._schema_changes(
            trueup._get_columns(select), trueup._get_columns('select * from ' ~ relation)
        ) -%}
        {%- for column in changes.changed -%}
            {%- do trueup._raise_error(
                'Each column of ' ~ relation, 'that of ' ~ store ~ ', or one that it can be widened to',
                trueup._type_change(column), 'Nothing is appended. Begin it again: dbt run --full-refresh -s ' ~ model.name ~ '.'
            ) -%}
        {%- endfor -%}
        {%- set alter = trueup._step_marker('alter') ~ '\nalter table ' ~ relation -%}
        {%- for column in changes.added -%}
            {%- do run_query(
                alter ~ ' add column ' ~ trueup._quoted(column.name) ~ ' ' ~ trueup._sql_type(trueup._stored_type(column.type))
            ) -%}
        {%- endfor -%}
        {%- for column in changes.widened -%}
            {%- do run_query(
                alter ~ ' alter column ' ~ trueup._quoted(column.name) ~ ' type ' ~ trueup._sql_type(column.type)
            ) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(begun) }}
{%- endmacro %}


{#-
    What is left to copy, as a dict: `last_seq` and `last_run`, the last batch that was copied; `newest_seq` of the store; and
    how many `updates` lie between. Raises if the store does not continue what was copied.
-#}
{% macro _get_part_to_copy(relation, store, begun) -%}
    {%- set part = run_query(trueup._step_marker('look') ~ trueup._part_to_copy_select(relation, store, begun)).rows[0].dict() -%}
    {%- set next = 'Nothing is appended. To copy the history of the store anew: dbt run --full-refresh -s ' ~ model.name ~ '.' -%}
    {%- if part.last_seq is not none and part.run != part.last_run -%}
        {%- do trueup._raise_error(
            'The store ' ~ store, 'the one that ' ~ relation ~ ' has copied up to batch ' ~ part.last_seq,
            'another one, which has begun again since then', next
        ) -%}
    {%- elif part.last_seq is not none and part.forgotten -%}
        {%- do trueup._raise_error(
            'The history of ' ~ store, 'whole after batch ' ~ part.last_seq ~ ', up to which ' ~ relation ~ ' is copied',
            'a compaction, which has taken away updates of ' ~ part.forgotten ~ ' later batches', next
        ) -%}
    {%- endif -%}
    {{ return(part) }}
{%- endmacro %}


{#- The select behind `_get_part_to_copy`: one row. `forgotten` counts the batches of which a compaction has taken away updates. -#}
{% macro _part_to_copy_select(relation, store, begun) -%}
with

copied as (

    select max(_seq) as last_seq, max_by(_run, _seq) as last_run from {{ relation }}

),

batches as (

    select
        _seq,
        get_json_object(_batch, '$.run') as run,
        cast(get_json_object(_batch, '$.statistics.updates_committed') as bigint) as committed,
        max(if({{ trueup._compacted_expr() }} is null, null, _seq)) over () as compacted_at
    from {{ store }}
    where _kind = 'batch'

),

updates as (

    select _seq, count(*) as left_over
    from {{ store }}
    where _kind = 'update' and _seq > coalesce((select last_seq from copied), 0)
    group by _seq

)

select
    any_value(last_seq) as last_seq,
    any_value(last_run) as last_run,
    max(_seq) as newest_seq,
    max(run) filter (where _seq = last_seq) as run,
    coalesce(sum(left_over), 0) as updates,
    count_if(
        _seq > greatest(last_seq, {{ begun }}) and _seq < compacted_at and committed > coalesce(left_over, 0)
    ) as forgotten
from batches
cross join copied
left join updates using (_seq)
{%- endmacro %}


{#-
    The append: one MERGE with the updates after the last batch that was copied. If another run has appended one of them
    meanwhile, a row matches and the statement raises. A MERGE without such a clause would be a blind append to Iceberg, and
    two of them would both commit.
-#}
{% macro _append_updates_sql(relation, store, select, part) -%}
    {%- set last = part.last_seq if part.last_seq is not none else 0 -%}
{{ trueup._step_marker('commit') }}
merge into {{ relation }} as copied
using (
    select *
    from {{ trueup._subquery(select) }}
    where
        _seq > {{ last }}
        and case
            when (
                select
                    max(_seq) = {{ part.newest_seq }}
                    {%- if part.last_seq is not none %}
                    and max(get_json_object(_batch, '$.run')) filter (where _seq = {{ last }}) = {{ trueup._literal(part.last_run) }}
                    {%- endif %}
                from {{ store }}
                where _kind = 'batch'
            ) then true
            else raise_error('upper mismatch: {{ store }} is no longer at batch {{ part.newest_seq }} as this run has seen it')
        end
) as updates
    on copied._seq = updates._seq and copied._seq > {{ last }}
when matched then update set
    _cause = raise_error('upper mismatch: {{ relation }} has the updates of a batch already')
when not matched then insert *
{%- endmacro %}
