{#-
    Forgets the history of the collection below the tick `since`: the updates below it become one addition
    for each row that existed then, in one commit. Reads at `since` or later give the same result as before.
    State and certificates do not change. From then on `as_of` below `since` is refused.

    An operation: `dbt run-operation trueup.compact --args '{collection: files, since: 340}'`.
-#}
{% macro compact(collection, since) -%}
    {%- set changelog = trueup._get_relation_of(collection, 'changelog', 'compact') -%}
    {%- set state = trueup._get_relation_of(collection, 'state', 'compact') -%}
    {%- do trueup._require_known_changelog(changelog) -%}
    {%- do trueup._require_upgraded(collection, changelog) -%}
    {%- set properties = trueup._get_isolated_properties(changelog) -%}
    {#-
        Read the ticks before the position. If updates are appended in between, they are at or above the
        upper that was read.
    -#}
    {%- set row = run_query(trueup._readable_ticks_select(changelog)).rows[0].dict() -%}
    {%- do trueup._require_applied(
        collection, row.last_seq, trueup._get_tail(changelog, state).applied_seq
    ) -%}
    {%- if since is not integer or row.upper is none or since > row.upper -%}
        {%- do trueup._raise_error(
            trueup._argument('compact', 'since'), 'a settled tick, at most the upper '
            ~ trueup._number_or_null(row.upper) ~ ' of ' ~ changelog, since,
            'Nothing is compacted. Call it again with such a tick.'
        ) -%}
    {%- elif row.since is not none and since <= row.since -%}
        {%- do trueup._raise_error(
            trueup._argument('compact', 'since'), 'after ' ~ row.since
            ~ ', up to which ' ~ changelog ~ ' is compacted already', since,
            'Nothing is left to do. To compact more, call it with a later tick.'
        ) -%}
    {%- endif -%}
    {%- set unique_key = trueup._key_of_collection(collection) -%}
    {%- do trueup._require_key_of_changelog(collection, changelog, unique_key, properties) -%}
    {%- do trueup._require_sound_changelog(changelog, unique_key, trueup._ensure_widened(changelog)) -%}
    {%- set columns = trueup._get_columns('select * from ' ~ changelog) -%}
    {%- do run_query(trueup._compact_sql(
        changelog, columns | map(attribute='name') | list, since, row
    )) -%}
    {%- do log('Compacted ' ~ changelog ~ ' up to tick ' ~ since ~ '.', info=true) -%}
{%- endmacro %}


{#-
    Raises unless the state has applied every batch up to `last_seq`. Otherwise a retraction could be
    compacted away before it reaches the state.
-#}
{% macro _require_applied(collection, last_seq, applied_seq) -%}
    {%- if last_seq is not none and (applied_seq is none or applied_seq < last_seq) -%}
        {%- do trueup._raise_error(
            'The state of `' ~ collection ~ '`',
            'at batch ' ~ last_seq ~ ', the last of its changelog',
            'batch ' ~ trueup._number_or_null(applied_seq),
            'Apply it first: dbt run -s ' ~ collection ~ '_state.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The ticks at which the changelog can be read, and its last batch, as a select of one row. -#}
{% macro _readable_ticks_select(changelog) -%}
select
    max(_seq) as last_seq,
    max_by(_batch_id, _seq) as last_batch_id,
    max(_upper) as upper,
    max(_statistics.since) as since
from {{ changelog }}
where _kind = 'progress'
{%- endmacro %}


{#-
    The MERGE of a compaction. Every update below `since` matches the one source row that purges. The last
    progress row matches the source row that sets `since`. The rows of the snapshot match nothing, so they
    are inserted. If an append commits meanwhile, the MERGE fails.

    `found` is what `_readable_ticks_select` has found. The MERGE checks it again: another compaction or a rebase
    may have come since then. A batch may have come, too. It is then the last one, and gets the `since`: an append
    whose batch is staged already reads the last progress row, and fails.
-#}
{% macro _compact_sql(changelog, columns, since, found) -%}
    {%- set last_seq = found.last_seq -%}
    {%- set content = columns | reject('in', trueup._update_columns()) | list -%}
    {%- set row = trueup._column_list(content) -%}
{{ trueup._step_marker('compact') }}
merge into {{ changelog }} as changelog
using (
    with

    guard as (

        select
            count_if(_seq = {{ last_seq }} and _batch_id = {{ trueup._literal(found.last_batch_id) }}) = 1
                and max(_statistics.since) <=> {{ trueup._number_or_null(found.since) }} as is_as_found
        from {{ changelog }}
        where _kind = 'progress'

    ),

    past as (

        select * from {{ changelog }} where {{ trueup._is_content_expr() }} and _ts < {{ since }}

    ),

    ticks as (

        select {{ row }}, _ts, sum(_diff) as _diff, max(_seq) as _seq, max_by(_cause, _seq) as _cause
        from past
        group by {{ row }}, _ts

    ),

    snapshot as (

        select
            {{ row }},
            max(_ts) filter (where _diff > 0) as _ts,
            max_by(_seq, _ts) filter (where _diff > 0) as _seq,
            max_by(_cause, _ts) filter (where _diff > 0) as _cause,
            sum(_diff) as _diff
        from ticks
        group by {{ row }}
        having sum(_diff) <> 0

    )

    select
        'insert' as _match,
        {% for name in columns -%}
        {%- if name in content + ['_ts', '_seq', '_cause'] -%}
        {{ 'snapshot.' ~ trueup._quoted(name) }}
        {%- elif name == '_diff' -%}
        case
            when snapshot._diff = 1 then 1
            else raise_error(concat(
                'the diffs of a row sum to ', snapshot._diff, ', not to 0 or 1; nothing is compacted.'
                ' To examine the changelog, call trueup.doctor'
            ))
        end as _diff
        {%- elif name == '_kind' -%}
        if(coalesce({{ trueup._is_order_key_expr('snapshot') }}, false), 'order', 'update') as _kind
        {%- elif name == '_certificate' -%}
        cast(null as {{ trueup._certificate_type() }}) as _certificate
        {%- elif name == '_statistics' -%}
        cast(null as {{ trueup._statistics_type() }}) as _statistics
        {%- else -%}
        batch.{{ name }}
        {%- endif %}{{ ',' if not loop.last }}
        {% endfor -%}
    from snapshot
    left join {{ changelog }} as batch on batch._kind = 'progress' and batch._seq = snapshot._seq
    union all
    -- This row is always there, so the check always runs.
    select
        case when guard.is_as_found then 'purge' else raise_error(
            'changelog moved: another compaction or a rebase came first; nothing is compacted. If it is still'
            ' needed, call it again'
        ) end as _match,
        past.*
    from guard
    left join past on false
    union all
    select concat('progress ', _seq) as _match, * from {{ changelog }}
    where _kind = 'progress' and _seq = {{ trueup._last_seq_expr(changelog) }}
) as compacted
    on compacted._match = case
        when {{ trueup._is_content_expr('changelog') }} and changelog._ts < {{ since }} then 'purge'
        when changelog._kind = 'progress' then concat('progress ', changelog._seq)
    end
when matched and startswith(compacted._match, 'progress') then update set
    _statistics.since = cast({{ since }} as bigint),
    _statistics.seal.committed = {{ trueup._committed_seal_expr(
        'changelog._statistics.seal.own', 'cast(' ~ since ~ ' as bigint)', 'changelog._statistics.committed_at'
    ) }}
when matched then delete
when not matched and compacted._match = 'insert' then insert ({{ trueup._column_list(columns) }})
    values ({{ trueup._column_list(columns, alias='compacted') }})
{%- endmacro %}
