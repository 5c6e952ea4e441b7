{#-
    Healing: the buckets in which the state is not what the changelog makes of it are made anew from
    the changelog, in one commit, and what was found is reported.
-#}

{#-
    CTEs of what the changelog has in wrong buckets, in all of them with none, up to the batch
    `seq`; they end with `truth`.
-#}
{% macro consolidate_buckets(changelog, unique_key, columns, seq, buckets=none) -%}
    {%- set identity = trueup._column_list(unique_key + ['_error_key']) -%}
    {%- set values = trueup._value_names(columns, unique_key) -%}
    {%- set value = 'struct(' ~ trueup._column_list(values + ['_error']) ~ ')' -%}
past as (

    select {{ identity }}, {{ value }} as _value, _ts, _diff, _seq
    from {{ changelog }}
    where
        _kind = 'update'
        and _seq <= {{ seq }}
        {%- if buckets is not none %}
        and {{ trueup._in_buckets_expr(unique_key, columns, buckets) }}
        {%- endif %}

),

value_ticks as (

    select {{ identity }}, _value, _ts, sum(_diff) as _diff, max(_seq) as _seq
    from past
    group by {{ identity }}, _value, _ts

),

truth as (

    select
        {{ identity }},
        _value,
        max(_ts) filter (where _diff > 0) as _ts,
        max(_seq) as _seq
    from value_ticks
    group by {{ identity }}, _value
    having sum(_diff) > 0

)
{%- endmacro %}


{#-
    The MERGE that heals: every row of a wrong bucket matches the one row of the source that purges
    the bucket, and what the changelog has there is inserted.
-#}
{% macro heal_sql(state, changelog, unique_key, columns, seq, buckets) -%}
    {%- set identity = trueup._column_list(unique_key + ['_error_key']) -%}
    {%- set values = trueup._value_names(columns, unique_key) -%}
    {%- set own = ['_ts', '_kind', '_seq', '_upper'] -%}
    {%- set all = unique_key + values + ['_error', '_error_key'] + own -%}
merge into {{ state }} as state
using (
    with

    {{ trueup.consolidate_buckets(
        changelog, unique_key, columns, seq, buckets
    ) | indent }},

    wrong as (

        select explode(array({{ buckets | join(', ') }})) as _purged

    )

    select
        cast(null as int) as _purged,
        {{ identity }},
        _value.*,
        _ts,
        {{ trueup._kind_expr('_value._error') }} as _kind,
        _seq,
        cast(null as bigint) as _upper
    from truth
    union all
    select
        wrong._purged,
        {{ trueup._column_list(unique_key + ['_error_key'], alias='truth') }},
        truth._value.*,
        truth._ts,
        null as _kind,
        truth._seq,
        null as _upper
    from wrong
    left join truth on false
) as healed
    on healed._purged = case
        when not (state._kind <=> 'progress')
            then {{ trueup.bucket_expr(unique_key, columns, alias='state') }}
    end
when matched then delete
when not matched and healed._purged is null then insert ({{ trueup._column_list(all) }})
    values ({{ trueup._column_list(all, alias='healed') }})
{%- endmacro %}


{#-
    What a heal changes, as a select of the form of the corrections: one row for each row of the
    state that should not be there, or is missing, or is another. With no `buckets` all are compared.
-#}
{% macro external_edits_sql(state, changelog, unique_key, columns, frontier, buckets=none) -%}
    {%- set names = unique_key + ['_error_key'] -%}
    {%- set identity = trueup._column_list(names) -%}
    {%- set values = trueup._value_names(columns, unique_key) -%}
    {%- set value = 'struct(' ~ trueup._column_list(values + ['_error']) ~ ')' -%}
with

{{ trueup.consolidate_buckets(
    changelog, unique_key, columns, frontier.last_seq, buckets
) }},

held as (

    select
        {{ identity }},
        {{ value }} as _value,
        _kind <=> {{ trueup._kind_expr('_error') }} as _is_of_its_kind
    from {{ state }}
    where
        not (_kind <=> 'progress')
        {%- if buckets is not none %}
        and {{ trueup._in_buckets_expr(unique_key, columns, buckets) }}
        {%- endif %}

),

-- Of a key that is there more than once every row is an edit.
counted as (

    select *, count(*) over (partition by {{ identity }}) as _row_count from held

)

select
    {% for name in names -%}
    {%- set name = trueup._quote(name) -%}
    coalesce(truth.{{ name }}, counted.{{ name }}) as {{ name }},
    {% endfor -%}
    counted._value as _persisted,
    truth._value as _desired,
    'external_edit' as _cause,
    cast({{ frontier.seq }} as bigint) as _seq,
    cast({{ frontier.lower }} as bigint) as _ts,
    {{ trueup._literal_or_null(frontier.last_batch_id) }} as _after_batch_id
from truth
full outer join counted
    on {{ trueup._same_key(names, 'truth', 'counted') }}
where
    not (truth._value <=> counted._value)
    or counted._row_count > 1
    or not counted._is_of_its_kind
{%- endmacro %}


{#-
    Verifies the state and heals it where it has to be, before anything reads it: a row that someone
    changed would enter the changelog as the retraction of something that was never added. Writes
    what it finds into `corrections`, and returns what it has done, none where it had nothing to do.
-#}
{% macro verify_and_heal(shard, columns, corrections, options) -%}
    {%- set frontier = shard.frontier -%}
    {%- set upper = frontier.lower if frontier.last_seq > 0 else 'null' -%}
    {%- if not shard.is_state_lost
            and not trueup._is_verification_due(options.verify, frontier.last_seq) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set found = trueup.get_differences(
        shard.state, shard.changelog, shard.unique_key, columns, frontier.last_seq, upper
    ) -%}
    {%- set is_restored = shard.is_state_lost or found.is_progress_wrong -%}
    {%- if not (found.buckets or is_restored or frontier.lacks_batches) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do trueup.require_sound_changelog(shard.changelog, shard.unique_key, columns) -%}
    {%- do run_query(trueup.create_table_sql(corrections, trueup.external_edits_sql(
        shard.state, shard.changelog, shard.unique_key, columns, frontier,
        none if is_restored else found.buckets
    ), replace=true, own_properties=trueup._no_comparison())) -%}
    {%- if is_restored -%}
        {%- do run_query(
            'insert overwrite ' ~ shard.state ~ ' by name\n'
            ~ trueup.rehydrate_sql(shard.changelog, shard.unique_key)
        ) -%}
        {{ return('the state was made anew, its progress row was not that of batch '
            ~ frontier.last_seq) }}
    {%- endif -%}
    {%- do run_query(trueup.heal_sql(
        shard.state, shard.changelog, shard.unique_key, columns, frontier.last_seq, found.buckets
    )) -%}
    {{ return((found.buckets | length) ~ ' buckets of the state were healed') }}
{%- endmacro %}


{#- Whether this run verifies; nothing is verified before the first batch. -#}
{% macro _is_verification_due(verify, last_seq) -%}
    {{ return(
        last_seq > 0 and (verify == 'always' or (verify is integer and last_seq % verify == 0))
    ) }}
{%- endmacro %}


{#-
    Whether the state is not one that a run leaves, even one that is killed: it is not there, has no
    progress row, or is more than one batch behind.
-#}
{% macro _is_state_lost(was_there, position) -%}
    {{ return(
        position.applied_seq is none
        or position.applied_seq < position.last_seq - 1
        or (position.last_seq > 0 and not was_there)
    ) }}
{%- endmacro %}
