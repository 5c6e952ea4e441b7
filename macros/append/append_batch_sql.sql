{#-
    Compare-and-append: inserts the staged batch unless the changelog has a progress row with its
    `_seq`, in which case the batch was lost to another run and nothing is written.

    An insert-only MERGE would not do: Iceberg plans it as a plain append, without a check for
    conflicts. The matched clause makes it a row-level write, which fails when a progress row was
    committed since the changelog was read. Only progress rows can match: data rows never do.

    What is said of a conflict is up to the Python module, which reads the mark.
-#}
{% macro _append_batch_sql(changelog, batch, on_conflict='fail') -%}
{{ trueup._step_marker('append', on_conflict) }}
merge into {{ changelog }} as changelog
using (
    {{ batch }}
) as batch
    on changelog._kind = 'progress'
    and batch._kind = 'progress'
    and changelog._seq = batch._seq
when matched then update set
    _batch_id = raise_error({{ trueup._upper_mismatch_expr(
        seq='batch._seq', lower='batch._lower', upper='changelog._upper'
    ) }})
when not matched then insert *
{%- endmacro %}


{#- The one line that the loser of a race reads, as an SQL expression. -#}
{% macro _upper_mismatch_expr(seq, lower, upper) -%}
concat(
        'upper mismatch: batch ', {{ seq }}, ' expected lower ', {{ lower }},
        ', the changelog\'s upper is ', {{ upper }}, '; run again'
    )
{%- endmacro %}
