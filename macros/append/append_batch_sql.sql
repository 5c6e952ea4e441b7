{#-
    Compare-and-append: inserts the staged batch, unless the changelog already has a progress row with its
    `_seq`. In that case another run has won, and nothing is written.

    An insert-only MERGE is not enough: Iceberg plans it as a plain append, without a check for conflicts.
    The matched clause makes it a row-level write. A row-level write fails if a progress row was committed
    after the changelog was read. Only progress rows can match: data rows never do. The condition on
    `seq`, the number of the batch, lets the MERGE open only the files of the last batch and of this one. The
    last batch must be among them: a compaction, or the fill of a widened column, writes its progress row again,
    and then the append must fail.

    `_match_seq` is the `_seq` of a progress row. In any other row it is a number that no batch has. Spark sends rows
    with equal numbers to one task and sorts them there. All rows of a batch have one `_seq`, so a large batch has many
    values of `_match_seq`. (Without an equality Spark would collect the batch and broadcast it: it never broadcasts the
    target of a MERGE.)

    If this statement loses, the plugin lets it pass as if it had written nothing (`commit_conflicts.py`). The
    run then asks which batch the changelog has.
-#}
{% macro _append_batch_sql(changelog, batch, seq) -%}
{{ trueup._step_marker('append') }}
merge into {{ changelog }} as changelog
using (
    {{ batch }}
) as batch
    on changelog._kind = 'progress'
    and batch._kind = 'progress'
    and changelog._seq = batch._match_seq
    and changelog._seq >= {{ seq - 1 }}
when matched then update set
    _batch_id = raise_error(concat({{ trueup._upper_mismatch_expr(
        seq='batch._seq', lower='batch._lower', upper='changelog._upper'
    ) }}, '; run again'))
when not matched then insert *
{%- endmacro %}


{#- The message for the run that loses a race, as an SQL expression of one line. -#}
{% macro _upper_mismatch_expr(seq, lower, upper) -%}
concat(
        'upper mismatch: batch ', {{ seq }}, ' expected lower ', {{ lower }},
        ', the changelog\'s upper is ', {{ upper }}
    )
{%- endmacro %}
