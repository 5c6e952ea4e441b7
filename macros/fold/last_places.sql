{#-
    CTEs that find the place of the last command of each key, `_last_place`. It is known from the order row, or from
    the last change of the row. `reading` is that of `_steps_select`. With its `is_log_decisive` the newest command of
    a key in `source` is its last one, whatever is known of the key.

    Reads: the relation `source`. Ends with: `bounded_places`; in a log without ticks `remembered`, which has the place
    as `_known_place`.
-#}
{% macro _last_places_ctes(collection, source, step_extras, reading) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set columns, sequence = trueup._column_list(collection.identity), trueup._sequence_terms(collection.options) -%}
    {%- set has_ticks = '_offset' not in collection.extras -%}
    {%- set is_late = trueup._is_late_step_expr(collection, reading) -%}
    {%- set mark = trueup._place_mark(collection.order_type) -%}
-- From here on an order row has the `_error_key` of its key.
owned as (

    select
        {{ trueup._column_list(collection.unique_key) }},
        case when _is_order then {{ trueup._owner_error_key_expr() }} else _error_key end as _error_key,
        {{ (trueup._step_columns(sequence) + step_extras) | join(',\n        ') }},
        _is_order,
        case
            when _is_order and startswith(_value._error, {{ trueup._literal(mark) }})
                then {{ trueup.row_from_bytes_expr(
                    'substr(_value._error, ' ~ (mark | length + 1) ~ ')',
                    trueup._place_columns(collection.order_type)
                ) }}
            -- An order of another type cannot be compared. Then a command must have at least the tick at which the
            -- order row was written.
            when _is_order then named_struct(
                'tick', {{ '_ts' if has_ticks else 'cast(null as bigint)' }},
                'order', cast(null as {{ trueup._sql_type(collection.order_type) }})
            )
            when _step = {{ step.command }} then named_struct(
                'tick', {{ '_ts' if has_ticks else 'cast(null as bigint)' }}, 'order', _order
            )
        end as _order_place
    from (
        select *, _step = {{ step.prior }} and coalesce({{ trueup._is_order_key_expr() }}, false) as _is_order
        from {{ source }}
    )

),

remembered as (

    select
        *,
        max(case when _is_order then _order_place end) over (partition by {{ columns }}) as _known_place,
        max(case when _is_order then _ts end) over (partition by {{ columns }}) as _order_ts,
        max(case when _step = {{ step.prior }} and not _is_order then _ts end) over (partition by {{ columns }})
            as _last_ts,
        max(case when {{ is_late }} then _order_place end) over (partition by {{ columns }})
            as _last_late_place
    from owned

)
{%- if has_ticks -%}
,

-- Some batches have not kept the last command of a key: those with another option. They have changed its row
-- since, or it has no order row. Then its last command has at least the tick of the last change.
bounded_places as (

    select
        *,
        case
            {% if reading.get('is_log_decisive') -%}
            -- All commands of the key are here. The last change of its row may be a correction: then its tick
            -- says nothing about the command.
            when _last_late_place is not null then null
            {% endif -%}
            when _last_ts > coalesce(_order_ts, _last_ts - 1)
                then named_struct('tick', _last_ts, 'order', if(_step = {{ step.command }}, null, _order))
            else _known_place
        end as _last_place
    from remembered

)
{%- endif %}
{%- endmacro %}


{#- The fields of the place of a command. -#}
{% macro _place_columns(order_type) -%}
    {{ return([{'name': 'tick', 'type': 'bigint'}, {'name': 'order', 'type': order_type}]) }}
{%- endmacro %}


{#- The mark of the type of an order. It begins the text of a place. -#}
{% macro _place_mark(order_type) -%}
    {{ return(local_md5(order_type)[:8] ~ ' ') }}
{%- endmacro %}


{#- Whether a step is a late command: one below the lower of the batch. In a log without ticks none is late. -#}
{% macro _is_late_step_expr(collection, reading) -%}
    {{ return(
        '_step = ' ~ trueup._step_numbers().command ~ ' and _ts < ' ~ reading.get('lower', trueup._least_tick_expr())
        if '_offset' not in collection.extras else 'false'
    ) }}
{%- endmacro %}
