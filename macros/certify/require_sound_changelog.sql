{#-
    Raises where the updates of the changelog do not add up to its certificates, and names the first
    batch of which they do not.
-#}
{% macro require_sound_changelog(changelog, unique_key, columns) -%}
    {%- set query -%}
select min(_seq)
from (
    {{ trueup.damaged_batches_sql(changelog, unique_key, columns) | indent }}
)
    {%- endset -%}
    {%- set first = run_query(query).rows[0][0] -%}
    {%- if first is not none -%}
        {%- do trueup._refuse(
            'Batch ' ~ first ~ ' of ' ~ changelog, 'what its certificate says',
            'rows that were lost, doubled or changed',
            'The changelog is the only copy of its history and is never healed: restore it from a'
            ~ ' snapshot or a backup, or start again from the log with --full-refresh and'
            ~ " --vars '{trueup_rebase: true}'."
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    A select of the batches whose progress row is not there once, or whose updates are not the
    difference between its certificate and that of the batch before. Where the past was compacted,
    all updates up to the batch that was the last one then are taken for its own.
-#}
{% macro damaged_batches_sql(changelog, unique_key, columns) -%}
    {%- set sums = trueup._certificate_sums() + ['value_xor'] -%}
with

progress as (

    select
        _seq,
        count(*) as progress_count,
        max(coalesce(_statistics.since, -9223372036854775808)) as since,
        any_value(_certificate) as _certificate
    from {{ changelog }}
    where _kind = 'progress'
    group by _seq

),

first_whole as (

    select min(_seq) as _seq from progress where since = (select max(since) from progress)

),

certified as (

    select
        *,
        {{ trueup._total_list('_certificate') }}
    from progress
    where _seq >= (select _seq from first_whole)

),

digested as (

    select
        greatest(_seq, (select _seq from first_whole)) as _seq,
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

    select explode(sequence(1, max(_seq))) as _seq from {{ changelog }}

),

compared as (

    select
        batches._seq,
        coalesce(progress.progress_count, 0) as progress_count,
        batches._seq < (select _seq from first_whole) as is_compacted,
        {% for name in sums -%}
        {%- set before = 'coalesce(lag(certified.' ~ name ~ ') over (order by batches._seq), 0L)' -%}
        certified.{{ name }} {{ '^' if name == 'value_xor' else '-' }} {{ before }}
            as certified_{{ name }},
        coalesce(added.{{ name }}, 0) as added_{{ name }}{{ ',' if not loop.last }}
        {% endfor %}
    from batches
    left join progress on batches._seq = progress._seq
    left join certified on batches._seq = certified._seq
    left join added on batches._seq = added._seq

)

select * except (is_compacted)
from compared
where
    progress_count <> 1
    or not is_compacted and not (
        {%- for name in sums %}
        {{ 'and ' if not loop.first }}certified_{{ name }} <=> added_{{ name }}
        {%- endfor %}
    )
{%- endmacro %}
