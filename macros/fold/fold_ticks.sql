{#-
    CTEs that find the winner of each key and tick and compare it with the value before. `folded`
    has one row per key and tick, with `_value`, `_prior`, `_command_count`, `_is_tie`,
    `_previous_order`.

    The sequence is total. Its last term is the content, so only duplicates are equal in it. All
    windows partition by the key first and sort alike, so Spark shuffles once and sorts once.

    With `keeps_orders` there are also steps below `prior`, which are no values: `_order_updates_select` reads them.

    With `open_from`, `folded` leaves out the ticks from `open_from` on. `_folded_open_ticks_ctes`
    folds them.

    Reads: `steps`. Ends with: `folded`.
-#}
{% macro _folded_ticks_ctes(identity, sequence, open_from=none, keeps_orders=false) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set columns = trueup._column_list(identity) -%}
ranked as (

    select
        *,
        row_number() over (
            partition by {{ columns }}, _step, _ts
            order by {{ sequence | join(' desc, ') }} desc
        ) as _command_rank,
        count(_hash) over (partition by {{ columns }}, _step, _ts) as _command_count,
        min(_hash) over peers <> max(_hash) over peers as _is_tie
        {%- if open_from %},
        coalesce(max(_ts) over (partition by {{ columns }}) >= {{ open_from }}, false) as _is_open_key
        {%- endif %}
    from steps
    {%- if keeps_orders %}
    where _step >= {{ step.prior }}
    {%- endif %}
    window peers as (
        partition by {{ columns }}, _step, _ts
        order by _order desc range between current row and current row
    )

),

-- Rule: rank before dropping deletes. The winner of a tick may be a delete.
winners as (

    select * from ranked
    where
        _command_rank = 1
        {%- if open_from %}
        and (_step < {{ step.command }} or _ts < {{ open_from }})
        {%- endif %}

),

-- Rule: all ticks of a key are folded in sequence, once.
folded as (

    select
        *,
        lag(_value) over key_in_sequence as _prior,
        lag(_digest) over key_in_sequence as _prior_digest,
        lag(_order) over key_in_sequence as _previous_order
        {%- if open_from %},
        lead(_step) over key_in_sequence is null as _is_last
        {%- endif %}
    from winners
    window key_in_sequence as (partition by {{ columns }} order by _step, _ts)

)
{%- endmacro %}
