{#-
    `late: newest`: of all commands of a key the newest one wins, no matter which run reads it. The place of a
    command is its tick and its order. In a log without ticks (`reclock`) the tick only says when a run has read the
    command, so its place is the order alone.

    The changelog and the state keep the place of the last command of each key, also of a deleted key: an
    order row. Its kind is `order`. It has an identity of its own: its `_error_key` is `_order_key_expr`. Its
    `_error` is the place as text, after a mark of the type of the order. So the certificate, the apply, the heal
    and the rebuild treat it like any other row.
-#}

{#-
    CTEs that take only the commands that are newer than the last command of their key. A late command that is taken
    becomes a `correction`: it comes first in the batch, at its lower. `_step_numbers` lists the steps.

    `reading` is that of `_steps_select`. With its `tombstones_end` the order rows of deleted keys that were
    written below this tick are retracted (option `tombstones`).

    A late command that is not taken has no step. The run may also read commands again that were settled in
    time, and nothing tells these from late commands.

    Reads: `given`, the last CTE of `_last_places_ctes`, the relation `persisted`. Ends with: `newest`.
-#}
{% macro _newest_ctes(collection, persisted, values, step_extras, reading) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set lower = reading.get('lower', trueup._least_tick_expr()) -%}
    {%- set tombstones_end = reading.get('tombstones_end') -%}
    {%- set sequence = trueup._sequence_terms(collection.options) -%}
    {%- set key, columns = trueup._column_list(collection.unique_key), trueup._column_list(collection.identity) -%}
    {%- set has_ticks = '_offset' not in collection.extras -%}
    {%- set is_late = trueup._is_late_step_expr(collection, reading) -%}
    {%- set place = trueup._place_columns(collection.order_type) -%}
    {%- set mark = trueup._place_mark(collection.order_type) -%}
judged as (

    select
        *,
        {% if has_ticks -%}
        _step = {{ step.command }}
        and coalesce(_order_place > _last_place, true)
        and (not ({{ is_late }}) or _order_place = _last_late_place) as _is_taken
        {%- else -%}
        -- An offset is read only once. So of two commands with an equal order the later one wins.
        _step = {{ step.command }} and coalesce(_order_place >= _known_place, true) as _is_taken
        {%- endif %}
    from {{ 'bounded_places' if has_ticks else 'remembered' }}

),

numbered as (

    select
        *,
        max(_is_taken) over (partition by {{ columns }}) as _is_key_taken,
        row_number() over (partition by {{ columns }} order by _is_taken desc, _order_place desc)
            as _order_rank
    from judged

),

-- The newest command that is taken gives the new order row, besides its own step.
copied as (

    select *
    from numbered
    lateral view explode(
        if(_is_taken and _order_rank = 1, array(false, true), array(false))
    ) copies as _is_new_order

),

newest as (

    select
        {{ key }},
        case
            when _is_order or _is_new_order then {{ trueup._order_key_expr() }}
            else _error_key
        end as _error_key,
        case
            when _is_new_order then if(_last_ts is not null and _order_ts is null, {{ step.order_of_key }}, {{
                step.new_order
            }})
            when _is_order then {{ step.old_order }}
            when _step = {{ step.command }} and not _is_taken then {{ step.superseded }}
            when {{ is_late }} then {{ step.correction }}
            else _step
        end as _step,
        case
            when _step = {{ step.command }} then greatest(_ts, {{ lower }})
            when _is_order then {{ lower }}
        end as _ts,
        case when {{ is_late }} and not _is_new_order then 'late_command' end as _cause,
        {% for name in sequence[:-1] + step_extras -%}
        case when not _is_new_order and _step = {{ step.command }} and _is_taken then {{ name }} end as {{ name }},
        {% endfor -%}
        case
            when _is_new_order then named_struct(
                {%- for name in values %}
                {{ trueup._literal(name) }}, if(_is_new_order, null, _value.{{ trueup._quoted(name) }}),
                {%- endfor %}
                '_error', concat(
                    {{ trueup._literal(mark) }},
                    cast({{ trueup.row_bytes_expr(place, alias='_order_place') }} as string)
                )
            )
            when _step < {{ step.command }} or _is_taken then _value
        end as _value
    from copied
    where
        case
            when _is_order then _is_key_taken
            when _step = {{ step.command }} then {{ '_is_taken' if has_ticks else 'true' }}
            else true
        end
    {%- if tombstones_end %}

    union all

    {{ trueup._expired_tombstones_select(collection, persisted, step_extras, lower, tombstones_end) }}
    {%- endif %}

)
{%- endmacro %}
