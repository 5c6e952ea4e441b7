{#-
    Whether the state is what the changelog made of it. One scan of the state is compared with the
    certificate of the batch that it has applied; only buckets that differ are looked at closer.
-#}

{#- The buckets in which the state differs from its certificate, a list. -#}
{% macro get_wrong_buckets(state, changelog, unique_key, columns, seq) -%}
    {%- set wrong = run_query(trueup.wrong_buckets_sql(
        state, changelog, unique_key, columns, seq
    )).rows[0][0] -%}
    {{ return(fromjson(wrong)) }}
{%- endmacro %}


{#- The select behind `get_wrong_buckets`: one row, the buckets in JSON. -#}
{% macro wrong_buckets_sql(state, changelog, unique_key, columns, seq) -%}
with

expected as (

    {{ trueup.select_certificate(changelog, seq) | indent }}

),

state_rows as (

    select
        1 as _diff,
        {{ trueup.digest_expr(unique_key, columns) }} as _digest
    from {{ state }}
    where _kind <> 'progress'

),

entries as (

    {{ trueup.certify_rows('state_rows') | indent }}

),

held as (

    {{ trueup.add_up_certificates('entries') | indent }}

),

wrong as (

    select coalesce(expected.bucket, held.bucket) as bucket
    from expected
    full outer join held on expected.bucket = held.bucket
    where not ({{ trueup._same_sums_expr('expected', 'held') }})

)

select to_json(sort_array(collect_list(bucket))) from wrong
{%- endmacro %}


{#-
    Raises where the updates of the changelog do not add up to its certificates, and names the first
    batch from which on they do not.
-#}
{% macro require_sound_changelog(changelog, unique_key, columns) -%}
    {%- set row = run_query(trueup.first_damaged_batch_sql(
        changelog, unique_key, columns
    )).rows[0] -%}
    {%- if row[0] is not none -%}
        {%- do trueup._refuse(
            'Batch ' ~ row[0] ~ ' of ' ~ changelog, 'what its certificate says',
            'updates that were lost, doubled or changed',
            'The changelog is the only copy of its history and is never healed: restore it from a'
            ~ ' snapshot or a backup, or start again from the log with --full-refresh and'
            ~ " --vars '{trueup_rebase: true}'."
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    The select behind it: one row, the number of the first damaged batch, or null. The updates up to
    a batch add up to its certificate; where the past was compacted, from the batch on that was the
    last one then.
-#}
{% macro first_damaged_batch_sql(changelog, unique_key, columns) -%}
with

totals as (

    select
        _seq,
        coalesce(_statistics.since, -9223372036854775808) as since,
        {{ trueup._total_list('_certificate') }}
    from {{ changelog }}
    where _kind = 'progress' and _certificate is not null

),

first_whole as (

    select min(_seq) as _seq from totals where since = (select max(since) from totals)

),

digested as (

    select
        _seq,
        _diff,
        {{ trueup.digest_expr(unique_key, columns) }} as _digest
    from {{ changelog }}
    where _kind = 'update'

),

entries as (

    {{ trueup.certify_rows('digested', also='_seq') | indent }}

),

added as (

    select
        _seq,
        {% for name in trueup._certificate_sums() -%}
        sum({{ name }}) as {{ name }},
        {% endfor -%}
        bit_xor(value_xor) as value_xor
    from entries
    group by _seq

),

batches as (

    select
        coalesce(totals._seq, added._seq) as _seq,
        totals._seq is null as is_unknown,
        {% for name in trueup._certificate_sums() -%}
        totals.{{ name }} as certified_{{ name }},
        coalesce(added.{{ name }}, 0) as added_{{ name }},
        {% endfor -%}
        totals.value_xor as certified_value_xor,
        coalesce(added.value_xor, 0) as added_value_xor
    from totals
    full outer join added on totals._seq = added._seq

),

compared as (

    select
        _seq,
        is_unknown
        {%- for name in trueup._certificate_sums() %}
        or certified_{{ name }} <> sum(added_{{ name }}) over (order by _seq)
        {%- endfor %}
        or certified_value_xor <> bit_xor(added_value_xor) over (order by _seq) as is_damaged
    from batches

)

select min(_seq)
from compared
where is_damaged and _seq >= (select _seq from first_whole)
{%- endmacro %}
