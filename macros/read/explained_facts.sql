{#- The rows that `explain` returns: the facts about one key, all in one form. -#}

{#- Each verdict on the rows of the log and the state, with its rule in one sentence. -#}
{% macro _row_verdicts() -%}
    {{ return({
        'sound': 'the updates of the key sum to one row or none',
        'unsound': 'the updates of the key do not sum to one row or none: the changelog is damaged',
        'agree': 'equal to the changelog',
        'behind': 'equal to the changelog before the batches that the state has not applied; the next run'
            ~ ' applies them',
        'late': 'differs from the changelog, because a command came late and has no effect',
        'late_forgotten': 'differs from the changelog, because a command came late, when the newer delete of its key'
            ~ ' had been forgotten (option `tombstones`)',
        'waits': 'differs from the changelog; the next run writes the difference',
        'scheduled': 'differs from the changelog; the run of the next refresh writes the difference (option `refresh`)',
        'unknown': 'the log may have lost commands of the key (option `log: partial`)',
        'duplicate_key': 'the SELECT has more than one row for the key, and each run refuses that',
        'differ': 'differs from the changelog, and no command of the key explains why',
        'edited': 'differs from the changelog: somebody else changed the state; the next run that verifies it'
            ~ ' repairs it'
    }) }}
{%- endmacro %}


{#- A verdict's rule, as an SQL expression. `verdicts` has all of them. -#}
{% macro _rule_expr(verdicts) -%}
    {%- set whens = [] -%}
    {%- for verdict, rule in verdicts.items() -%}
        {%- do whens.append("when '" ~ verdict ~ "' then " ~ trueup._literal(rule)) -%}
    {%- endfor -%}
    {{ return('case verdict ' ~ (whens | join(' ')) ~ ' end') }}
{%- endmacro %}


{#- The values of a row in JSON, without the text of an error; null for an error. -#}
{% macro _content_expr(values, row) -%}
    {%- set fields = [] -%}
    {%- for name in values -%}
        {%- do fields.append(trueup._literal(name) ~ ', ' ~ row ~ '.' ~ trueup._quoted(name)) -%}
    {%- endfor -%}
    {{ return(
        'case when ' ~ row ~ ' is not null and ' ~ row ~ '._error is null then '
        ~ trueup._exact_json_expr('named_struct(' ~ (fields | join(', ')) ~ ')') ~ ' end'
    ) }}
{%- endmacro %}


{#- What the log or the SELECT, the changelog and the state have for the key: a select of three rows. -#}
{% macro _row_facts_select(collection, values) -%}
    {%- set options, is_by_select = collection.options, collection.is_by_select -%}
    {%- set held = 'filter(array(last_change._held._value), _each -> _each is not null)' -%}
select
    fact_no,
    'row' as fact,
    source,
    verdict,
    {{ trueup._rule_expr(trueup._row_verdicts()) }} as rule,
    _ts,
    cast(null as string) as _op,
    cast(null as string) as _order,
    cast(null as int) as _diff,
    cast(null as string) as _cause,
    batch,
    batches._committed_at as committed_at,
    case when exists(_rows, _row -> _row._error is null)
        then array_join(transform(_rows, _row -> {{ trueup._content_expr(values, '_row') }}), '\n')
    end as content,
    case when exists(_rows, _row -> _row._error is not null)
        then array_join(transform(_rows, _row -> _row._error), '\n')
    end as _error,
    cast(null as array<string>) as _unchanged,
    cast(null as string) as _old_key,
    1 as row_no,
    1 as row_count
from (
    select
        1 as fact_no,
        '{{ 'select' if is_by_select else 'log' }}' as source,
        case
            {%- if is_by_select %}
            when size(desired_rows._rows) > 1 then 'duplicate_key'
            {%- endif %}
            when desired_rows._rows <=> {{ held }} then 'agree'
            {%- if is_by_select %}
            else '{{ 'scheduled' if options.refresh else 'waits' }}'
            {%- else %}
            {%- if options.log == 'partial' %}
            when {{ 'true' if '_unchanged' in collection.extras
                else 'coalesce(desired_rows._ts < last_change._ts, true)' }} then 'unknown'
            {%- endif %}
            when verdicts._is_waiting then 'waits'
            when verdicts._is_late and (verdicts._has_winner or last_change._ts is null) then 'late'
            {%- if options.late == 'newest' and options.tombstones != 'forever' %}
            when verdicts._is_taken_late then 'late_forgotten'
            {%- endif %}
            else 'differ'
            {%- endif %}
        end as verdict,
        desired_rows._rows,
        {{ 'null' if is_by_select else 'desired_rows._ts' }} as _ts,
        null as batch
    from desired_rows
    cross join last_change
    {%- if not is_by_select %}
    cross join (
        select
            {% if collection.options.late == 'correct' and '_unchanged' in collection.extras -%}
            -- A later partial command does not hide a late one: it may take values from it.
            coalesce(max(verdict in ('late_waiting', 'late_superseded')), false) as _is_waiting,
            {%- else -%}
            coalesce(max(verdict = 'late_waiting'), false) as _is_waiting,
            {%- endif %}
            coalesce(max(verdict in ('late_dropped', 'late_stops', 'older')), false) as _is_late,
            coalesce(max(verdict = 'wins'), false) as _has_winner,
            coalesce(max(verdict = 'wins' and _correction is not null), false) as _is_taken_late
        from judged
    ) as verdicts
    {%- endif %}
    union all
    select
        2 as fact_no,
        'changelog' as source,
        if(changelog_rows._is_sound, 'sound', 'unsound') as verdict,
        changelog_rows._rows,
        last_updates._last._ts as _ts,
        last_updates._last._seq as batch
    from changelog_rows
    cross join (select max(struct(_ts, _seq)) as _last from updates) as last_updates
    union all
    select
        3 as fact_no,
        'state' as source,
        case
            when not state_rows._is_of_its_kind then 'edited'
            when state_rows._rows <=> changelog_rows._rows then 'agree'
            when
                frontier._applied_seq < frontier._last_seq
                and state_rows._rows <=> changelog_rows._applied_rows
                then 'behind'
            else 'edited'
        end as verdict,
        state_rows._rows,
        state_rows._ts,
        state_rows._seq as batch
    from state_rows
    cross join changelog_rows
    cross join frontier
) as compared
left join batches on compared.batch = batches._seq
{%- endmacro %}


{#- Every update of the key in the changelog, the newest first, as a select. -#}
{% macro _update_facts_select(values) -%}
select
    5 as fact_no,
    'update' as fact,
    'changelog' as source,
    cast(null as string) as verdict,
    cast(null as string) as rule,
    updates._ts,
    cast(null as string) as _op,
    cast(null as string) as _order,
    updates._diff,
    updates._cause,
    updates._seq as batch,
    batches._committed_at as committed_at,
    {{ trueup._content_expr(values, 'updates._value') }} as content,
    updates._value._error,
    cast(null as array<string>) as _unchanged,
    cast(null as string) as _old_key,
    row_number() over (order by updates._seq desc, updates._ts desc, updates._diff desc, updates._value)
        as row_no,
    count(*) over () as row_count
from updates
left join batches on updates._seq = batches._seq
{%- endmacro %}


{#-
    The commands of the key with their verdicts, the newest first, as a select. A truncate of the collection is
    left out where the key had no value. The batch is the one that settled the tick or wrote the correction.
-#}
{% macro _command_facts_select(collection, values) -%}
select
    4 as fact_no,
    'command' as fact,
    'log' as source,
    verdict,
    {{ trueup._rule_expr(trueup._command_verdicts(collection.options)) }} as rule,
    {{ "if(verdict = 'not_settled', null, judged._ts)" if '_offset' in collection.extras
        else 'judged._ts' }} as _ts,
    case when _is_truncate then 'truncate' when _value is null then 'delete' else 'upsert' end as _op,
    {{ trueup._exact_json_expr('_order') }} as _order,
    cast(null as int) as _diff,
    cast(null as string) as _cause,
    batches._seq as batch,
    batches._committed_at as committed_at,
    {{ trueup._content_expr(values, '_value') }} as content,
    _value._error,
    _unchanged,
    _old_key,
    row_number() over (
        order by judged._ts desc, _command_rank, _is_duplicate, judged._is_truncate
    ) as row_no,
    count(*) over () as row_count
from judged
left join batches
    on case
        when judged._correction is not null then judged._correction._corrected_seq = batches._seq
        else judged._ts >= batches._lower and judged._ts < batches._upper
    end
where
    not _is_truncate
    or _before is not null
    or verdict not in (
        'absent_delete', 'no_change', 'lower_order', 'duplicate', 'superseded', 'truncated', 'before_as_of'
    )
{%- endmacro %}
