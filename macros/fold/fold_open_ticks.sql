{#-
    CTEs that fold the open ticks of the batch with the Python aggregate `trueup_provisional`.
    `folded` has only the settled ticks. `open_sides` has the updates of the open ticks; some of
    them cancel out.

    The aggregate puts the commands of each key and tick in sequence. It returns how the winner
    changes the finalized value: what it retracts and what it adds.

    For the aggregate, a provisional value counts only at its own tick. In a changelog, an update
    counts from its tick on. So it is undone at the next tick of its key, where the aggregate begins
    with the finalized value again.

    Reads: `folded`, `ranked`. Ends with: `open_sides`.
-#}
{% macro _folded_open_ticks_ctes(identity, upper) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set columns = trueup._column_list(identity) -%}
open_rows as (

    -- The finalized value of a key has no tick.
    select
        _step_key,
        _value_bytes,
        cast(null as bigint) as _ts,
        cast(null as bigint) as _command_place,
        false as _is_emitted
    from folded
    where _is_last and _is_open_key
    union all
    -- In the aggregate the greatest number wins. Use the rank, because an order can have any type.
    select
        _step_key,
        _value_bytes,
        _ts,
        cast(-_command_rank as bigint) as _command_place,
        false as _is_emitted
    from ranked
    where _step = {{ step.command }} and _ts >= {{ upper }}

),

open_buckets as (

    select
        trueup_provisional(
            _step_key, _value_bytes, _ts, _command_place, _is_emitted
        ) as _step_ticks
    from open_rows
    group by pmod(xxhash64(_step_key), {{ trueup._fold_bucket_count() }})

),

open_ticks as (

    select
        inline(
            arrays_zip(
                _step_ticks.key, _step_ticks.ts, _step_ticks.retracted, _step_ticks.added
            )
        )
    from open_buckets

),

open_ticks_in_sequence as (

    select *, lead(ts) over (partition by key order by ts) as next_ts from open_ticks

),

open_changes as (

    select
        key as _step_key,
        inlined.*
    from open_ticks_in_sequence
    lateral view inline(
        filter(
            array(
                named_struct('_ts', ts, '_value_bytes', retracted, '_diff', -1),
                named_struct('_ts', ts, '_value_bytes', added, '_diff', 1),
                named_struct('_ts', next_ts, '_value_bytes', retracted, '_diff', 1),
                named_struct('_ts', next_ts, '_value_bytes', added, '_diff', -1)
            ),
            side -> side._ts is not null and side._value_bytes is not null
        )
    ) inlined as _ts, _value_bytes, _diff

),

-- Turns the bytes back into the original rows, so that values are written exactly as they came.
open_values as (

    select
        {{ columns }},
        _step_key,
        _value_bytes,
        any_value(_value) as _value,
        any_value(_digest) as _digest
    from ranked
    where _is_open_key and _value_bytes is not null
    group by {{ columns }}, _step_key, _value_bytes

),

-- The random number keeps Spark from copying this CTE. So Python is called once, not once per reader.
open_sides as (

    select
        {{ columns }},
        _ts,
        cast(null as string) as _cause,
        _diff,
        _value,
        _digest,
        rand() as _step_token
    from open_changes
    inner join open_values using (_step_key, _value_bytes)

)
{%- endmacro %}


{#- Whether the Python aggregate folds the open ticks. A batch that is not eager has no open ticks. -#}
{% macro _is_folded_by_udaf(options) -%}
    {{ return(options.eager and options.fold == 'udaf') }}
{%- endmacro %}


{#- The number of groups of keys. Each call of the aggregate folds the open ticks of one group. -#}
{% macro _fold_bucket_count() -%}
    {{ return(64) }}
{%- endmacro %}


{#-
    A select of the steps, with keys and values as bytes for the aggregate. `steps` is a select,
    too.
-#}
{% macro _encoded_steps_select(steps, unique_key, columns) -%}
    {%- set values = trueup._value_columns(unique_key, columns) -%}
select
    *,
    {{ trueup.row_bytes_expr(trueup._identity_columns(unique_key, columns)) }} as _step_key,
    case
        when _value is not null then {{ trueup.row_bytes_expr(values, alias='_value') }}
    end as _value_bytes
from {{ trueup._subquery(steps) }}
{%- endmacro %}
