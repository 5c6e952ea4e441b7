{#-
    Healing: buckets of the state that differ from the changelog are rebuilt from the changelog, in one
    commit, and the differences are reported.
-#}

{#-
    CTEs of the rows that the changelog gives for wrong buckets, up to the batch `seq`. If `buckets` is none:
    for all buckets.

    Reads: the changelog. Ends with: `truth`.
-#}
{% macro _truth_ctes(collection, columns, seq, buckets) -%}
    {%- set unique_key, identity = collection.unique_key, trueup._column_list(collection.identity) -%}
    {%- set values = trueup._value_names(columns, unique_key) -%}
    {%- set value = 'struct(' ~ trueup._column_list(values + ['_error']) ~ ')' -%}
past as (

    select {{ identity }}, {{ value }} as _value, _ts, _diff, _seq
    from {{ collection.changelog }} as updates
    where
        {{ trueup._is_content_expr() }}
        and _seq <= {{ seq }}
        {%- if buckets is not none %}
        and {{ trueup._in_buckets_expr(unique_key, columns, buckets, alias='updates') }}
        {%- endif %}

),

value_ticks as (

    select {{ identity }}, _value, _ts, sum(_diff) as _diff, max(_seq) as _seq
    from past
    group by {{ identity }}, _value, _ts

),

values_left as (

    select
        {{ identity }},
        _value,
        max(_ts) filter (where _diff > 0) as _ts,
        max(_seq) as _seq,
        sum(_diff) as _diff_sum
    from value_ticks
    group by {{ identity }}, _value
    having sum(_diff) <> 0

),

-- Certificates add up even if a batch has retracted a value that its key did not have.
counted_values as (

    select *, count(*) over (partition by {{ identity }}) as _value_count from values_left

),

truth as (

    select
        {{ identity }},
        _value,
        _ts,
        _seq
    from counted_values
    where
        case
            when _diff_sum = 1 and _value_count = 1 then true
            else {{ trueup._raise_unsound_key_expr(
                collection.changelog, 'struct(' ~ identity ~ ')',
                "concat(_value_count, ' values are left, the diffs of one sum to ', _diff_sum)"
            ) }}
        end

)
{%- endmacro %}


{#-
    Whether a row of the state is empty: it has no key, no error key and no kind. Only an edit makes such a row.
    On Delta, a MERGE also tests its condition for rows of the source without a match; there all columns of the
    state are null, as in such a row.
-#}
{% macro _is_empty_row_expr(unique_key, alias=none) -%}
    {{ return(trueup._all_null_expr(unique_key + ['_error_key', '_kind'], alias)) }}
{%- endmacro %}


{#-
    The MERGE that heals. One row of the source purges each wrong bucket: every row of the bucket matches
    it. The rows that the changelog gives for the bucket are inserted. The progress row has its own bucket:
    if it is no longer at the batch `seq`, nothing is healed.

    Delta evaluates the conditions of the match and of a matched clause for rows without a match, too: there
    the other side is null. Nulls have a bucket, too. The row that purges this bucket must not match a row that does
    not exist. So no empty row is healed: if a scan finds one, the state is rebuilt.
-#}
{% macro _heal_sql(collection, columns, seq, buckets) -%}
    {%- set unique_key, identity = collection.unique_key, trueup._column_list(collection.identity) -%}
    {%- set values = trueup._value_names(columns, unique_key) -%}
    {%- set all = unique_key + values + ['_error', '_error_key'] + trueup._state_columns() -%}
    {%- set moved -%}
raise_error(
        'state moved: it was verified at batch {{ seq }}, but is no longer at this batch; nothing is healed,'
        ' run again'
    )
    {%- endset -%}
{{ trueup._step_marker('heal') }}
merge into {{ collection.state }} as state
using (
    with

    {{ trueup._truth_ctes(collection, columns, seq, buckets) }},

    wrong as (

        select explode(array({{ (buckets + [trueup._progress_bucket()]) | join(', ') }})) as _purged

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
    where {{ trueup._state_fits_expr(collection) }}
    union all
    select
        wrong._purged,
        {{ trueup._column_list(collection.identity, alias='truth') }},
        truth._value.*,
        truth._ts,
        null as _kind,
        truth._seq,
        null as _upper
    from wrong
    left join truth on false
) as healed
    on healed._purged = case
        when {{ trueup._is_empty_row_expr(unique_key, alias='state') }} then null
        when state._kind <=> 'progress' then {{ trueup._progress_bucket() }}
        else {{ trueup._bucket_expr(unique_key, columns, alias='state') }}
    end
when matched and case
        when not (healed._purged <=> {{ trueup._progress_bucket() }}) then false
        when state._seq = {{ seq }} then true
        else {{ moved }}
    end then update set _kind = state._kind
when matched then delete
when not matched and healed._purged = {{ trueup._progress_bucket() }} then insert (_kind)
    values ({{ moved }})
when not matched and healed._purged is null then insert ({{ trueup._column_list(all) }})
    values ({{ trueup._column_list(all, alias='healed') }})
{%- endmacro %}
