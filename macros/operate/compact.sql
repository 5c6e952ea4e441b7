{#-
    Forgets the history below the tick `since`: the updates below it become one addition for each row that existed then, in
    one commit. Reads at `since` or later give the same result as before. From then on `as_of` below `since` is refused.

    An operation: `dbt run-operation trueup.compact --args '{collection: orders, since: 1767225600000}'`.
-#}
{% macro compact(collection, since) -%}
    {%- set found = trueup._get_sound_store('compact', collection) -%}
    {%- set store = found.collection.store -%}
    {%- set done = run_query('select max(' ~ trueup._compacted_expr() ~ ') from ' ~ store ~ " where _kind = 'batch'").rows[0][0] -%}
    {%- if not trueup._is_bigint(since) or since > found.newest.ts + 1 -%}
        {%- do trueup._raise_error(
            trueup._argument('compact', 'since'), 'a tick, at most ' ~ (found.newest.ts + 1) ~ ', the end of ' ~ store, since,
            'Nothing is compacted. Call it again with such a tick.'
        ) -%}
    {%- elif done is not none and since <= done -%}
        {%- do trueup._raise_error(
            trueup._argument('compact', 'since'), 'after ' ~ done ~ ', up to which ' ~ store ~ ' is compacted already', since,
            'Nothing is left to do. To compact more, call it with a later tick.'
        ) -%}
    {%- endif -%}
    {%- set removed = "_kind = 'update' and _ts < " ~ since -%}
    {%- do trueup._ensure_rewritten(
        found, {'removed': removed, 'added': trueup._kept_updates_select(found.collection, removed)}, 'compacted',
        {'compacted': since}
    ) -%}
    {%- do log('Compacted ' ~ store ~ ': reads below the tick ' ~ since ~ ' are refused from now on.', info=true) -%}
{%- endmacro %}


{#- Of the updates that a compaction removes: the last addition of each row that they leave. -#}
{% macro _kept_updates_select(collection, removed) -%}
    {%- set content = trueup._column_list(
        collection.key + collection.value_names + ['_error', '_error_key', '_error_kind']
    ) -%}
select *
from (
    select
        *,
        sum(_diff) over (partition by {{ content }}) as _left,
        row_number() over (partition by {{ content }} order by _diff desc, _ts desc, _seq desc) as _place
    from {{ collection.store }}
    where {{ removed }}
)
where _left <> 0 and _place = 1
{%- endmacro %}
