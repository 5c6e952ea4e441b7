{#-
    The first batch after `applied_seq` whose updates are not those of its seal, as a select of one row: null if there
    is none. It reads only these batches, so it is for a state that a killed run has left behind.
-#}
{% macro _first_damaged_of_tail_select(changelog, unique_key, columns, applied_seq) -%}
with

digested as (

    select
        *,
        {{ trueup._digest_expr(unique_key, columns, alias='kept_updates') }} as _digest
    from {{ changelog }} as kept_updates
    where _seq > {{ applied_seq }}

),

batches as (

    select
        _seq,
        count_if({{ trueup._is_update_of_its_kind_expr() }}) as _update_count,
        coalesce(
            bit_xor(case when {{ trueup._is_update_of_its_kind_expr() }} then {{ trueup._update_mark_expr() }} end), 0
        ) as _mark,
        max({{ trueup._rows_of_batch_count_expr() }}) as _sealed_count,
        max(_statistics.seal.updates) as _sealed_mark
    from digested
    group by _seq

)

select min(_seq)
from batches
where not (_mark <=> _sealed_mark and _update_count <=> _sealed_count)
{%- endmacro %}
