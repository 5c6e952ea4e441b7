{#-
    CTEs that fold the ticks which the batch leaves open, by the Python aggregate
    `trueup_provisional`: `folded` has the settled ticks alone, `open_sides` has the updates of the open
    ticks, of which some cancel out.

    The aggregate orders the commands of each key and tick, and says what the winner changes of the
    finalized value: what it retracts and what it adds. To it a provisional value counts at its own
    tick alone. In a changelog an update counts from its tick on, so it is taken back at the next tick
    of its key, where the aggregate begins with the finalized value again.

    Reads: `folded`, `ranked`. Ends with: `open_sides`.
-#}
{% macro _folded_open_ticks_ctes(identity, upper) -%}
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
    -- To the aggregate the greatest number wins; an order may be of any type.
    select
        _step_key,
        _value_bytes,
        _ts,
        cast(-_command_rank as bigint) as _command_place,
        false as _is_emitted
    from ranked
    where _step = 2 and _ts >= {{ upper }}

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

-- The rows that the bytes were made of: a value is written as it came.
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

-- With a random number, so that Python is called once and not at each place that reads this.
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


{#- Whether the Python aggregate folds the open ticks: a batch that is not eager has none. -#}
{% macro _is_folded_by_udaf(options) -%}
    {{ return(options.eager and options.fold == 'udaf') }}
{%- endmacro %}


{#- How many groups of keys the aggregate takes the open ticks in, each at once. -#}
{% macro _fold_bucket_count() -%}
    {{ return(64) }}
{%- endmacro %}


{#- The steps, a select, with keys and values as bytes, as the aggregate takes them, as a select. -#}
{% macro _encoded_steps_select(steps, unique_key, columns) -%}
    {%- set error = [{'name': '_error', 'type': 'string'}] -%}
    {%- set values = columns | rejectattr('name', 'in', unique_key) | list + error -%}
select
    *,
    {{ trueup.row_bytes_expr(trueup._identity_columns(unique_key, columns)) }} as _step_key,
    case
        when _value is not null then {{ trueup.row_bytes_expr(values, alias='_value') }}
    end as _value_bytes
from {{ trueup._subquery(steps) }}
{%- endmacro %}
