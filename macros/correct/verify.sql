{#-
    Checks that the state is what the changelog made of it. One scan compares the state with the certificate
    of its last batch. Only buckets that differ are examined further.
-#}

{#-
    The faults of the state at the last batch. A dict: `buckets`, the list of those that differ from the
    certificate; `is_progress_wrong`, whether its progress row is not the expected one; `has_empty_row`, see
    `_is_empty_row_expr`.
-#}
{% macro _get_differences(collection, plan, columns) -%}
    {%- set buckets = fromjson(
        run_query(trueup._differences_select(collection, plan, columns)).rows[0][0]
    ) -%}
    {%- set progress, empty = trueup._progress_bucket(), trueup._empty_bucket() -%}
    {{ return({
        'buckets': buckets | reject('in', [progress, empty]) | list,
        'is_progress_wrong': progress in buckets,
        'has_empty_row': empty in buckets,
    }) }}
{%- endmacro %}


{#- The bucket of the progress row of a state. It is not one of the buckets of keys. -#}
{% macro _progress_bucket() -%}
    {{ return(-1) }}
{%- endmacro %}


{#- The bucket of empty rows. No certificate has it. -#}
{% macro _empty_bucket() -%}
    {{ return(-2) }}
{%- endmacro %}


{#-
    The select behind `_get_differences`: one row, the buckets in JSON. One statement reads the rows and the
    progress row, so both are from one moment.
-#}
{% macro _differences_select(collection, plan, columns) -%}
    {%- set seq = plan.last_seq -%}
    {%- set upper = plan.lower if seq > 0 else 'null' -%}
with

state_rows as (

    select
        -- A row with a wrong kind counts twice. So its bucket is wrong, also if somebody adds several equal ones.
        case when {{ trueup._is_of_its_kind_expr() }} then 1 else 2 end as _diff,
        case
            when {{ trueup._is_empty_row_expr(collection.unique_key) }}
                then {{ trueup._digest_of_bucket_expr(trueup._empty_bucket(), '0L') }}
            else {{ trueup._digest_expr(collection.unique_key, columns, alias='persisted') }}
        end as _digest
    from {{ collection.state }} as persisted
    where not (_kind <=> 'progress')

    union all

    select
        1 as _diff,
        {{ trueup._progress_digest_expr(
            '_seq', '_upper', more=trueup._column_list(collection.identity, alias='persisted')
        ) }} as _digest
    from {{ collection.state }} as persisted
    where _kind = 'progress'

    union all

    -- Subtract the expected progress row.
    select
        -1 as _diff,
        {{ trueup._progress_digest_expr(seq, upper) }} as _digest

),

{{ trueup._wrong_buckets_ctes('state_rows', collection.changelog, seq) }}

select buckets from wrong_buckets
{%- endmacro %}


{#-
    The digest of a progress row of a state, as an SQL expression. `more` are columns that must be null: a hash skips
    nulls.
-#}
{% macro _progress_digest_expr(seq, upper, more=none) -%}
    {%- set terms = ['cast(' ~ seq ~ ' as bigint)', 'cast(' ~ upper ~ ' as bigint)', more] | select -%}
    {{ return(trueup._digest_of_bucket_expr(
        trueup._progress_bucket(), 'xxhash64(' ~ (terms | join(', ')) ~ ')'
    )) }}
{%- endmacro %}


{#- The digest of a row that is not the row of a key, as an SQL expression. -#}
{% macro _digest_of_bucket_expr(bucket, checksum) -%}
named_struct(
            'bucket', {{ bucket }},
            'length', 0L,
            'checksum', {{ checksum }}
        )
{%- endmacro %}
