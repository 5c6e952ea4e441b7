{#-
    Raises if the updates of the changelog do not add up to its certificates. The error names the
    first damaged batch.
-#}
{% macro _require_sound_changelog(changelog, unique_key, columns) -%}
    {%- set query = trueup._first_damaged_select(changelog, unique_key, columns) -%}
    {%- do trueup._require_undamaged(changelog, run_query(query).rows[0][0]) -%}
{%- endmacro %}


{#-
    Raises if the progress row of any batch of the changelog is missing, doubled or edited. A run looks at
    those of the recent batches anyway. This reads them all, so it belongs to a scan of the state.
-#}
{% macro _require_sealed_batches(changelog) -%}
    {%- set query -%}
with

sealed as (

    select sort_array(collect_list(struct(
        _seq,
        _statistics.seal.own as _own,
        _statistics.seal.previous as _previous,
        {{ trueup._is_sealed_expr() }} as _is_sealed
    ))) as _seals
    from {{ changelog }}
    where _kind = 'progress'

)

select {{ trueup._first_unsealed_expr() }} as unsealed_seq
from sealed
    {%- endset -%}
    {%- do trueup._require_undamaged(changelog, run_query(query).rows[0].dict().unsealed_seq) -%}
{%- endmacro %}


{#- Raises unless `seq` is none. `seq` is the first damaged batch of a changelog. -#}
{% macro _require_undamaged(changelog, seq) -%}
    {%- if seq is not none -%}
        {%- do trueup._raise_error(
            'Batch ' ~ seq ~ ' of ' ~ changelog, 'what its certificate says',
            'rows that were lost, doubled or changed',
            'The changelog is the only copy of its history and is never healed: restore it from a'
            ~ ' snapshot or a backup, or start this collection again from the log (var trueup_rebase in'
            ~ ' docs/options.md).'
        ) -%}
    {%- endif -%}
{%- endmacro %}
