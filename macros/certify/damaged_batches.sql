{#- Which batches of a changelog are damaged. -#}

{#- The first damaged batch of a changelog, as a select of one row: null if there is none. -#}
{% macro _first_damaged_select(changelog, unique_key, columns) -%}
select min(_seq)
from (
    {{ trueup._damaged_batches_select(changelog, unique_key, columns) }}
)
{%- endmacro %}


{#-
    A select of the damaged batches of a changelog. A batch is damaged in each of these cases:

    - its progress row is missing, or there is more than one
    - its progress row is not sealed
    - its updates are not the difference between its certificate and the certificate of the batch
      before
    - its updates are not the updates of its seal.

    After a compaction, all updates up to the batch that was the last one then count as updates of
    that batch. Only their certificate is compared.
-#}
{% macro _damaged_batches_select(changelog, unique_key, columns) -%}
    {%- set fields = trueup._certificate_fields() -%}
with

progress as (

    select
        _seq,
        count(*) as progress_count,
        max(coalesce(_statistics.since, {{ trueup._least_bigint() }})) as since,
        any_value(_certificate) as _certificate,
        bool_and(
            {{ trueup._is_sealed_expr() }}
            and _statistics.seal.certificate <=> {{ trueup._certificate_hash_expr() }}
        ) as is_sealed,
        any_value(_statistics.seal.own) as own,
        any_value(_statistics.seal.previous) as previous,
        any_value(_statistics.seal.updates) as updates
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
        {{ trueup._total_list() }}
    from progress
    where _seq >= (select _seq from first_whole)

),

digested as (

    select
        greatest(_seq, (select _seq from first_whole)) as _seq,
        _ts,
        _diff,
        _cause,
        {{ trueup._digest_expr(unique_key, columns, alias='kept_updates') }} as _digest
    from {{ changelog }} as kept_updates
    where {{ trueup._is_update_of_its_kind_expr() }}

),

entries as (

    {{ trueup._certificate_entries_select(
        'digested', also='_seq, ' ~ trueup._update_mark_expr() ~ ' as _digest_mark'
    ) | indent }}

),

added as (

    select
        _seq,
        {{ trueup._certificate_aggregate_list() | indent }},
        bit_xor(_digest_mark) as updates
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
        coalesce(progress.is_sealed, false)
            and progress.previous <=> lag(progress.own) over (order by batches._seq) as is_sealed,
        batches._seq <= (select _seq from first_whole)
            and (select max(since) from progress) > {{ trueup._least_bigint() }} as is_rewritten,
        progress.updates as sealed_updates,
        coalesce(added.updates, 0) as added_updates,
        {% for name in fields -%}
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

select * except (is_compacted, is_rewritten)
from compared
where
    progress_count <> 1
    or not is_sealed
    or not is_rewritten and not (sealed_updates <=> added_updates)
    or not is_compacted and not (
        {%- for name in fields %}
        {{ 'and ' if not loop.first }}certified_{{ name }} <=> added_{{ name }}
        {%- endfor %}
    )
{%- endmacro %}
