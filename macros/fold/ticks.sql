{#-
    The fold of a log whose commands have ticks (`ts`). The tick is the first part of the order, so the newest command of a
    key is the one of the latest tick. But here each tick has a row of its own in the batch: what the key is at the end of
    this tick. The difference from row to row is the history.

    `plan.ticks` has `lower`, the least tick that is not settled, and `upper`, the end of the batch, both as SQL
    expressions. A late command, of a tick below `lower`, acts at `lower`: the past never changes.
-#}

{#- How many of the commands are late, as an SQL expression: 0 if this run reads commands again, because nobody knows then. -#}
{% macro _late_count_expr(plan) -%}
    {{ return('count_if(_order._1 < ' ~ plan.ticks.lower ~ ')' if plan.ticks.knows_late else '0') }}
{%- endmacro %}


{#-
    How many late commands count for a row of `decided`. If this run reads commands again, it is 1 for a key whose newest command
    is late and takes effect.
-#}
{% macro _late_of_row_expr(collection, plan) -%}
    {%- set order = '_top' if collection.is_partial else '_new._order' -%}
    {{ return(
        '_late' if plan.ticks.knows_late
        else 'int(coalesce(_tick = ' ~ plan.ticks.lower ~ ' and ' ~ order ~ '._1 < ' ~ plan.ticks.lower
            ~ ' and (_old is null or ' ~ order ~ " > _old._order) and _verdict in ('taken', 'tie'), false))" if plan.ticks.has_lower
        else '0'
    ) }}
{%- endmacro %}


{#-
    The CTE `newest`. Without ticks it has one row a key, that of `folded`. With ticks it has a row for each tick of a key, with
    the newest of all its commands up to then: `running` has the columns of `folded` that add up, each with its aggregate. A
    truncate changes keys without a command, too, so it makes a row of its tick for each key.

    Reads: `folded`. Ends with: `newest`.
-#}
{% macro _running_ctes(collection, plan, running) -%}
    {%- set names = collection.key + ['_error_key'] -%}
    {%- set over = ' over (partition by ' ~ trueup._column_list(names) ~ ' order by _tick)' -%}
{%- if not plan.ticks -%}
newest as (

    select * from folded

)
{%- else -%}
    {%- if plan.new_truncates -%}
truncate_steps as (

    select keys.*, ticks._tick
    from (
        select {{ trueup._column_list(names) }} from folded
        union
        select {{ trueup._column_list(names) }} from {{ trueup._stored_relation(collection) }}
        where _kind in ({{ trueup._current_kinds() }})
    ) as keys
    cross join (select distinct _tick from said where _op = 'truncate') as ticks

),

steps as (

    select
        {%- for name in names %}
        {%- set column = trueup._quoted(name) %}
        if(folded._tick is null, truncate_steps.{{ column }}, folded.{{ column }}) as {{ column }},
        {%- endfor %}
        coalesce(folded._tick, truncate_steps._tick) as _tick,
        folded.* except ({{ trueup._column_list(names) }}, _tick)
    from folded
    full outer join truncate_steps
        on folded._tick = truncate_steps._tick and {{ trueup._same_key_expr(names, 'folded', 'truncate_steps') }}

),

    {% endif -%}
newest as (

    select
        {{ trueup._column_list(names) }},
        _tick,
        coalesce(_late, 0) as _late,
        coalesce(_commands, 0) as _commands,
        {%- if plan.has_unordered %}
        _unordered,
        {%- endif %}
        {%- if plan.since and collection.is_partial %}
        flatten(collect_list(_read_orders) over (partition by {{ trueup._column_list(names) }})) as _read_orders,
        {%- endif %}
        {%- for name, aggregate in running.items() %}
        {{ aggregate ~ over }} as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ 'steps' if plan.new_truncates else 'folded' }}

)
{%- endif -%}
{%- endmacro %}


{#- The order of the newest truncate of a key, before this batch or in a `step` of it that meets a condition. -#}
{% macro _newest_truncate_expr(collection, values, condition) -%}
    {{ return(
        'array_max(array(' ~ trueup._of_bound_expr(collection, '_truncated_before', values) ~ ', array_max(transform(filter('
        ~ trueup._of_bound_expr(collection, '_truncates', values) ~ ', step -> ' ~ condition ~ '), step -> step._order))))'
    ) }}
{%- endmacro %}


{#-
    The CTEs up to `spans`: what the row of a key was before each tick (`_before`, `_value_before`), and at which ticks the
    key changes first and last in this batch.

    Reads: `judged`. Ends with: `spans`.
-#}
{% macro _span_ctes(collection, plan) -%}
    {%- set key = trueup._column_list(collection.key + ['_error_key']) -%}
    {%- set fields = ['_order', '_digest', '_length', '_error_kind', '_delete_order', '_orders'] -%}
    {%- set types = trueup._store_own_columns(collection) -%}
    {%- set was, lagged = [], [] -%}
    {%- for field in fields -%}
        {%- do was.append('_old.' ~ field) -%}
        {%- do lagged.append(
            '_next_before.' ~ field if collection.is_partial or loop.index <= 4
            else 'cast(null as ' ~ types[field] ~ ') as ' ~ field
        ) -%}
    {%- endfor -%}
followed as (

    select
        *,
        lag(_next) over (partition by {{ key }} order by _tick) as _next_before,
        lag(_value) over (partition by {{ key }} order by _tick) as _value_before,
        row_number() over (partition by {{ key }} order by _tick) = 1 as _is_first,
        max(_tick) over (partition by {{ key }}) as _last_tick
    from judged

),

preceded as (

    select
        * except (_next_before),
        case
            when _is_first and _old is not null then struct({{ was | join(', ') }})
            when not _is_first and _next_before._order is not null then struct({{ lagged | join(', ') }})
        end as _before
    from followed

),

spans as (

    select
        *,
        min(if(_next._digest <=> _before._digest, null, _tick)) over (partition by {{ key }}) as _first_changed,
        max(if(_next._digest <=> _before._digest, null, _tick)) over (partition by {{ key }}) as _last_changed
    from preceded

)
{%- endmacro %}


{#- What to do for a row of `decided` in a log with ticks, as an array: see `_changes_select`. -#}
{% macro _todo_of_tick_expr(plan) -%}
    {%- set nothing = 'cast(null as string)' -%}
array_compact(array(
            if(_tick = _first_changed and _before._digest is not null, 'retraction', {{ nothing }}),
            if(not _next._digest <=> _before._digest and _next._digest is not null, 'update', {{ nothing }}),
            case
                when _tick <> _last_tick then {{ nothing }}
                when _old is not null and _old._digest is null
                    and (_first_changed is not null or _next._order is null) then 'removal'
                when _first_changed is null and _old is not null and _change = 'renewed' then 'renewal'
                else {{ nothing }}
            end,
            case
                when _tick <> _last_tick or _next._order is null then {{ nothing }}
                when _next._digest is not null then if(_first_changed is null, {{ nothing }}, 'current')
                when _first_changed is not null or _old is null then 'tombstone'
                else {{ nothing }}
            end
            {%- if plan.has_unordered %},
            case _order_change when 'opened' then 'order_update' when 'closed' then 'order_retraction' end,
            if(_order_change = 'opened', 'order_current', {{ nothing }})
            {%- endif %}
        ))
{%- endmacro %}
