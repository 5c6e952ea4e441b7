{#-
    The fold for partial commands: commands that leave some columns unchanged. Each column has an order of its own, and
    its newest value wins. A command gives a column if it says its value, null among them.

    `_orders` of a current row says for each column the order at which it was given, and what is wrong with it: an error or
    a tie breaks the columns that it gives. Such a row is an error until each of them is given again. Its good columns are
    kept in `_orders`, too, as texts. One more column, with an empty name, stands for the row itself: every upsert gives it.
-#}

{#-
    The value columns and the column that stands for the row: a list of `name`, `type`, `i`, the number in the names of
    the columns that the CTEs below add, and `key`, its place in `_orders`.
-#}
{% macro _given_columns(collection) -%}
    {#- A row of the time when the log had whole commands: its order is that of all its columns. -#}
    {%- set of_row = "if(_old._orders is null and _old._digest is not null, struct(_old._order, cast(null as string) as _error,"
        ~ " cast(null as string) as _error_kind, cast(null as string) as _value), _old._orders[" -%}
    {%- set found = [{'name': '', 'type': 'boolean', 'value': 'true', 'i': 0, 'order': of_row ~ "''])"}] -%}
    {%- for column in collection.columns if column.name not in collection.key -%}
        {%- do found.append({
            'name': column.name | lower, 'type': column.type, 'value': trueup._quoted(column.name), 'i': loop.index,
            'order': of_row ~ trueup._literal(column.name | lower) ~ '])',
        }) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}


{#- Whether a command gives a column, as an SQL expression. Only a command of the log gives the row itself. -#}
{% macro _is_given_expr(column, plan) -%}
    {{ return(
        'not ' ~ trueup._lacks_order_expr() ~ " and _op = 'upsert'"
        ~ (' and not array_contains(_unchanged, ' ~ trueup._literal(column.name) ~ ')' if column.name
            else (' and _messages > 0' if plan.moves else ''))
    ) }}
{%- endmacro %}


{#- The columns that a command leaves unchanged, in lower case, as an SQL expression. An unknown name raises. -#}
{% macro _unchanged_names_expr(collection) -%}
    {%- set columns = collection.columns | rejectattr('name', 'in', collection.key) | list -%}
    {%- set given = collection.given_types | list | map('lower') | reject('in', collection.texts) | list -%}
    {%- set known = trueup._known_names_expr(columns, trueup._left_out_names(collection)) -%}
    {{ return(
        'concat(' ~ known ~ ', ' ~ trueup._marked_names_expr(columns, given) ~ ')' if collection.unchanged_value else known
    ) }}
{%- endmacro %}


{#- The columns of the SELECT that are no value columns: the key, and those that `on_schema_change: ignore` leaves out. -#}
{% macro _left_out_names(collection) -%}
    {%- set stored = collection.columns | map(attribute='name') | map('lower') | list -%}
    {{ return(collection.key + collection.given_types | list | reject('in', stored) | list) }}
{%- endmacro %}


{#-
    The CTE `newest` of partial commands: of each key and column the newest content that was given.

    Reads: `formed`. Ends with: `newest`.
-#}
{% macro _newest_column_ctes(collection, plan) -%}
    {%- set is_ordered = 'not ' ~ trueup._lacks_order_expr() -%}
    {%- set is_known = '_is_known' if plan.moves else 'true' -%}
    {%- set running = {'_top': 'max(_top)', '_deleted_now': 'max(_deleted_now)', '_upserted_now': 'max(_upserted_now)'} -%}
    {%- for column in trueup._given_columns(collection) -%}
        {%- do running.update({
            '_new_' ~ column.i: 'max(_new_' ~ column.i ~ ')', '_rival_' ~ column.i: 'max(_rival_' ~ column.i ~ ')'
        }) -%}
    {%- endfor -%}
folded as (

    select
        {{ trueup._column_list(collection.key) }},
        _error_key,
        {%- if plan.ticks %}
        _tick,
        {{ trueup._late_count_expr(plan) }} as _late,
        {%- endif %}
        {{ 'sum(_messages)' if plan.moves else 'count(*)' }} as _commands,
        {%- if plan.has_unordered %}
        {{ trueup._unordered_expr(plan) }} as _unordered,
        {%- endif %}
        {%- if plan.since %}
        collect_set(_order) as _read_orders,
        {%- endif %}
        max(_order) filter (where {{ is_ordered }}) as _top,
        max(_order) filter (where {{ is_ordered }} and _op = 'delete') as _deleted_now,
        max(_order) filter (where {{ is_ordered }} and _op = 'upsert') as _upserted_now
        {%- for column in trueup._given_columns(collection) %}
        {#- An error breaks the columns that it gives. One that gives none breaks the row itself, or it would be lost. #}
        {%- set is_broken = '_error_kind is not null' if column.name
            else '(_error_kind is not null and (_error_key is not null or size(array_distinct(_unchanged)) = '
                ~ collection.value_names | length ~ '))' %}
        {%- set rank = "xxhash64(" ~ trueup._widest_form(column.value, column.type).value
            ~ ", if(" ~ is_broken ~ ", xxhash64('error', _error), null))" %},
        max(struct(
            _order, {{ is_known }} as _is_known, {{ rank }} as _rank, if({{ is_broken }}, null, {{ column.value }}) as _value,
            if({{ is_broken }}, _error, null) as _error, if({{ is_broken }}, _error_kind, null) as _error_kind
        )) filter (where {{ trueup._is_given_expr(column, plan) }}) as _new_{{ column.i }},
        max(struct(_order, {{ is_known }} as _is_known, ~{{ rank }} as _rank)) filter (where {{ trueup._is_given_expr(column, plan) }}) as _rival_{{ column.i }}
        {%- endfor %}
    from formed
    where {{ trueup._is_command_of_a_key_expr(collection, plan) }}
    group by {{ trueup._column_list(collection.key) }}, _error_key{{ ', _tick' if plan.ticks }}

)
,

{{ trueup._running_ctes(collection, plan, running) }}
{%- endmacro %}


{#-
    The values of a current row, as a list of select items `_held_<i>`. The good values of a row in error are texts in
    `_orders`.
-#}
{% macro _held_columns(collection) -%}
    {%- set items = [] -%}
    {%- for column in trueup._given_columns(collection) -%}
        {%- if not column.name -%}
            {%- do items.append({'i': 0, 'value': "if(_kind = 'tombstone' or _orders['']._error_kind is not null, null, true)"}) -%}
        {%- else -%}
            {%- set text = '_orders[' ~ trueup._literal(column.name) ~ ']._value' -%}
            {%- do items.append({'i': column.i, 'value':
                "if(_kind = 'error', " ~ trueup._decode_expr(text, trueup._parsed_type(column.type), 0) ~ ', ' ~ column.value ~ ')'
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(items) }}
{%- endmacro %}


{#-
    The CTEs up to `judged` for partial commands: see `_judged_ctes`. The columns of each level are plain columns, because
    Spark would copy the expressions of a struct to each place that reads a field of it.

    Reads: `joined`. Ends with: `judged`.
-#}
{% macro _judged_column_ctes(collection, plan) -%}
    {%- set ties = collection.options.ties -%}
    {%- set columns = trueup._given_columns(collection) -%}
known as ( -- `_known`: what the store knows of each column

    {% set deleted = 'coalesce(_old._delete_order, if(_old._digest is null, _old._order, null))' -%}
    {#- The present code has read these orders again, so what older code has read there does not count. -#}
    {%- set read_again = '_old._seq < _since and array_contains(_read_orders, {})' if plan.since else 'false' -%}
    select
        *,
        if({{ read_again.format(deleted) }}, null, {{ deleted }}) as _deleted_before
        {%- for column in columns %},
        if({{ read_again.format(column.order ~ '._order') }}, null, {{ column.order }}) as _known_{{ column.i }}
        {%- endfor %}
    from joined

),

newer as ( -- `_state`: each column as the newer of the store and the batch has it

    select
        *,
        array_max(array(_deleted_now, _deleted_before)) as _dead,
        {%- for column in columns %}
        {%- set new, known, rival = '_new_' ~ column.i, '_known_' ~ column.i, '_rival_' ~ column.i %}
        {%- set is_tie = 'false' if ties == 'greatest' else new ~ '._rank <> ~' ~ rival ~ '._rank' %}
        {%- set held = 'struct({0}._order, _held_' ~ column.i ~ ' as _value, {0}._error, {0}._error_kind)' %}
        {%- set given = 'struct(' ~ new ~ '._order, ' ~ new ~ '._value, ' ~ new ~ '._error, ' ~ new ~ '._error_kind)' %}
        {%- set tie = trueup._tie_state_expr(column, new ~ '._order') %}
        case
            when {{ known }}._order is null and {{ new }} is null then null
            {%- if plan.moves %}
            -- What a change of key could not find yields to what is known.
            when not {{ new }}._is_known and {{ new }}._order <=> {{ column.order }}._order then {{ held.format(column.order) }}
            {%- endif %}
            when {{ new }} is null or {{ new }}._order < {{ known }}._order then {{ held.format(known) }}
            when {{ known }}._order is null or {{ new }}._order > {{ known }}._order
                or {{ known }}._error_kind <=> 'origin'
                then if({{ is_tie }}, {{ tie }}, {{ given }})
            when {{ known }}._error_kind <=> 'tie' then {{ held.format(known) }}
            when {{ is_tie }} or not ({{ new }}._value <=> _held_{{ column.i }} and {{ new }}._error <=> {{ known }}._error)
                then {{ tie }}
            else {{ held.format(known) }}
        end as _state_{{ column.i }}{{ ',' if not loop.last }}
        {%- endfor %}
    from known

),

alive as ( -- `_live`: the columns that no later delete or truncate takes

    select
        *,
        {%- for column in columns %}
        {%- set state = '_state_' ~ column.i %}
        case
            when {{ state }}._order < _dead then null
            {%- if plan.has_truncates %}
            when {{ state }}._order < _truncated then null
            {%- endif %}
            {%- if ties == 'prefer_delete' %}
            when {{ state }}._order = _dead then null
            {%- elif ties in ['error', 'fail'] %}
            when {{ state }}._order = _dead then {{ trueup._tie_state_expr(column, state ~ '._order') }}
            {%- endif %}
            else {{ state }}
        end as _live_{{ column.i }}{{ ',' if not loop.last }}
        {%- endfor %}
    from newer

),

checked as ( -- what is wrong with the row: the newest of its broken columns

    select
        *,
        array_max(array_compact(array(
            {%- for column in columns %}
            {%- set live = '_live_' ~ column.i %}
            if({{ live }}._error_kind is null, null, struct(
                {{ live }}._order, {{ live }}._error_kind = 'tie' as is_tie, {{ live }}._error_kind as kind, {{ live }}._error as text
            )){{ ',' if not loop.last }}
            {%- endfor %}
        ))) as _broken
    from alive

),

valued as (

    select
        *,
        if(_live_0 is null, null, struct(
            {%- for column in columns if column.name %}
            if(_broken is null, _live_{{ column.i }}._value, null) as {{ column.value }},
            {%- endfor %}
            _broken.text as _error,
            _broken.kind as _error_kind
        )) as _value,
        if(_live_0 is null, map(), map_from_entries(filter(
            array(
                {%- for column in columns %}
                {%- set live = '_live_' ~ column.i %}
                struct({{ trueup._literal(column.name) }} as key, struct(
                    {{ live }}._order,
                    {{ live }}._error,
                    {{ live }}._error_kind,
                    {{ 'if(_broken is null, null, ' ~ trueup._encode_expr(live ~ '._value', trueup._parsed_type(column.type)) ~ ')'
                        if column.name else 'cast(null as string)' }} as _value
                ) as value){{ ',' if not loop.last }}
                {%- endfor %}
            ), entry -> entry.value._order is not null
        ))) as _orders
    from checked

),

prepared as (

    select
        *,
        struct(
            -- Nothing stays of a key that only a truncate has deleted, not even an order.
            if(
                _live_0 is null and (_dead is null{{ ' or _dead < _truncated' if plan.has_truncates }}),
                null, array_max(array(_top, _old._order))
            ) as _order,
            if(_live_0 is null, null, {{ trueup._row_digest_expr(collection, '_value.') }}) as _digest,
            if(_live_0 is null, null, {{ trueup._row_length_expr(collection, '_value.') }}) as _length,
            _broken.kind as _error_kind,
            _dead as _delete_order,
            _orders
        ) as _next
    from valued

),

judged as (

    select
        *,
        case
            when _next._order is null then 'dead'
            when _old is null or _old._seq < _since and _top >= _old._order then 'taken'
            when _next._digest <=> _old._digest and _next._order <=> _old._order and _next._delete_order <=> _old._delete_order
                and array_sort(map_entries(_next._orders)) <=> array_sort(map_entries(_old._orders))
                then 'superseded'
            else 'taken'
        end as _verdict
    from prepared

)
{%- endmacro %}


{#- A column that two commands of one order give different content. -#}
{% macro _tie_state_expr(column, order) -%}
    {{ return(
        'struct(' ~ order ~ ' as _order, cast(null as ' ~ trueup._sql_type(column.type) ~ ') as _value, '
        ~ trueup._literal(trueup._tie_text()) ~ " as _error, 'tie' as _error_kind)"
    ) }}
{%- endmacro %}


{#-
    The columns that a command leaves unchanged, in lower case. The names `left_out` have no effect. These are key
    columns, which `parse_json` names in `absent` if a message lacks them, and columns that `on_schema_change: ignore`
    keeps out of the tables. An unknown name raises.
-#}
{% macro _known_names_expr(values, left_out) -%}
    {%- set names = trueup._literal_list(values | map(attribute='name') | map('lower')) -%}
    {%- set other_names = trueup._literal_list(left_out | map('lower')) -%}
transform(filter(
            coalesce(_unchanged, array()), name -> name is null or lower(name) not in ({{ other_names }})
        ), name -> case
            when lower(name) in ({{ names or 'null' }}) then lower(name)
            else raise_error(concat(
                {{ trueup._literal(trueup._argument('commands', 'unchanged')) }},
                ' must be names of value columns.\nGot: ', coalesce(name, 'null'),
                '\nIf the log has this column now, run the model of the commands, too. Else leave the name out.'
            ))
        end)
{%- endmacro %}


{#- The columns whose text or bytes equal the marker of the source, in lower case. -#}
{% macro _marked_names_expr(values, known) -%}
    {%- set markers = {
        'string': '_unchanged_value', 'binary': 'cast(_unchanged_value as binary)'
    } -%}
    {%- set names = [] -%}
    {%- for column in values if column.type in markers and column.name | lower in known -%}
        {%- do names.append(
            'case when ' ~ trueup._quoted(column.name) ~ ' = ' ~ markers[column.type] ~ ' then '
            ~ trueup._literal(column.name | lower) ~ ' end'
        ) -%}
    {%- endfor -%}
    {{ return('array_compact(array(' ~ (names | join(', ')) ~ '))') }}
{%- endmacro %}
