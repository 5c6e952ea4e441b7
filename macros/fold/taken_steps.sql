{#-
    The CTE `steps_taken`: the folded steps of a batch without the persisted values.

    The updates, the statistics and the certificate each read it. It folds once for all of them, and keeps the result
    in a shuffle by the columns of the hint (`_once_step_expr`).

    With `is_snapshot` only the last value of each key is written, as one addition, without the values
    before it.

    Reads: `folded`. Ends with: `steps_taken`.
-#}
{% macro _taken_steps_ctes(identity, is_snapshot) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set columns = trueup._column_list(identity) -%}
{% if is_snapshot -%}
last_changes as (

    select
        *,
        _ts <=> max(case when not (_value <=> _prior) then _ts end) over (partition by {{ columns }})
            as _is_last_change
    from folded
    where _step > {{ step.prior }}

),

{% endif -%}
steps_taken as (

    select /*+ repartition({{ columns }}, _ts) */
        {{ columns }},
        {{ trueup._once_step_expr() }} as _step,
        _ts,
        _cause,
        _order,
        _previous_order,
        _command_count,
        _is_tie,
        _value,
        _digest,
        {% if is_snapshot -%}
        case when not _is_last_change then _value end as _prior,
        case when not _is_last_change then _digest end as _prior_digest
        {%- else -%}
        _prior,
        _prior_digest
        {%- endif %}
    from {{ 'last_changes' if is_snapshot else 'folded' }}
    where _step > {{ step.prior }}

)
{%- endmacro %}


{#-
    The number of a step, with which Spark computes a CTE once. Spark copies a deterministic CTE to each place that uses
    it, and this expression is not deterministic: it adds a random number below one, which the cast turns into 0.

    All columns of the CTE must be used. If Spark can leave one out, it no longer sees a hint to repartition the CTE.
    Then it adds a round-robin shuffle, which sorts all rows first.
-#}
{% macro _once_step_expr() -%}
_step + cast(rand() as int)
{%- endmacro %}
