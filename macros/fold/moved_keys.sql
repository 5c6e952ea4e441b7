{#-
    Changes of key. A command with an old key is a delete of the old key and an upsert of the new one, with the same order.
    Columns that it leaves unchanged come from the old key, as they were below that order: from the commands of this batch
    and from the store. If nobody knows such a column, the new key is an error until the column is given. In the store its kind
    is `origin`, because an error of the kind `order` stands beside the row of its key. People read `order` for both.

    Each of these facts becomes one more command, so the fold itself knows nothing of changes of key. A batch never has a
    change of key that depends on another one: the look cuts the batch between them (`_chain_select`). Only a change of key that
    leaves columns unchanged (`plan.inherits`) depends on anything, so most batches are not cut, and read their commands once.
-#}

{#- The old key of a command as a struct of the key columns; null if the command does not change the key. -#}
{% macro _old_key_expr(collection) -%}
    {%- set types, same = [], [] -%}
    {%- for name in collection.key -%}
        {%- set column = collection.columns | selectattr('name', 'eq', name) | first -%}
        {%- do types.append(trueup._quoted(name) ~ ': ' ~ trueup._sql_type(column.type)) -%}
        {%- do same.append(trueup._given_value_expr(collection, column)) -%}
    {%- endfor -%}
    {%- set old = 'cast(_old_key as struct<' ~ (types | join(', ')) ~ '>)' -%}
    {{ return(
        "if(_op = 'upsert' and _error_key is null and to_json(" ~ old ~ ") <> '{}' and not " ~ old ~ ' <=> cast(struct('
        ~ (same | join(', ')) ~ ') as struct<' ~ (types | join(', ')) ~ '>), ' ~ old ~ ', null)'
    ) }}
{%- endmacro %}


{#-
    The CTE `formed` of a batch with changes of key: the commands of the log, and those that follow from changes of key.

    Reads: `said`. Ends with: `formed`.
-#}
{% macro _moved_key_ctes(collection, plan) -%}
    {%- set key, columns = collection.key, trueup._given_columns(collection) -%}
    {%- set values = columns | selectattr('name') | list -%}
    {%- set old_key = {} -%}
    {%- for name in key -%}
        {%- do old_key.update({name: 'moves._old_key.' ~ trueup._quoted(name)}) -%}
    {%- endfor -%}
sided as ( -- the old key is deleted at the order of the change; without one it is an error, too

    select
        {%- for name in key %}
        if(_left, _old_key.{{ trueup._quoted(name) }}, {{ trueup._quoted(name) }}) as {{ trueup._quoted(name) }},
        {%- endfor %}
        if(_left, null, _error_key) as _error_key,
        if(_left, null, _error_kind) as _error_kind,
        if(_left, null, _error) as _error,
        {%- for column in values %}
        if(_left, null, {{ column.value }}) as {{ column.value }},
        {%- endfor %}
        {%- if collection.is_partial %}
        if(_left, cast(array() as array<string>), _unchanged) as _unchanged,
        {%- endif %}
        _order,
        if(_left, 'delete', _op) as _op,
        {%- if plan.ticks %}
        _tick,
        {%- endif %}
        true as _is_known,
        if(_left, 0, 1) as _messages
    from said
    lateral view explode(case
        when _old_key is null then array(false)
        {%- if collection.is_partial and not plan.inherits %}
        when size(_unchanged) > 0 then raise_error('upper mismatch: the log grew while this run read it')
        {%- endif %}
        else array(false, true)
    end) sides as _left

),
{%- if plan.inherits %}

moves as (

    select * except (_is_known, _messages), monotonically_increasing_id() as _move
    from said
    where size(_unchanged) > 0 and _old_key is not null and not {{ trueup._lacks_order_expr() }}

),

origins as ( -- what the batch says of the old key, below the order of the change

    select
        {%- for name in key + ['_error_key', '_old_key', '_unchanged', '_order'] + (['_tick'] if plan.ticks else []) %}
        any_value(moves.{{ trueup._quoted(name) }}) as {{ trueup._quoted(name) }},
        {%- endfor %}
        max(said._order) filter (where said._op = 'delete') as _deleted_now
        {%- for column in values %}
        {%- set is_given = "said._op = 'upsert' and not array_contains(said._unchanged, " ~ trueup._literal(column.name) ~ ')' %}
        {%- set value = 'said.' ~ column.value %}
        {%- set rank = 'xxhash64(' ~ trueup._widest_form(value, column.type).value ~ ', said._error)' %},
        max(struct(said._order, {{ rank }} as _rank, {{ value }} as _value, said._error_kind)) filter (where {{ is_given }})
            as _new_{{ column.i }},
        max(struct(said._order, ~{{ rank }} as _rank)) filter (where {{ is_given }}) as _rival_{{ column.i }}
        {%- endfor %}
    from moves
    left join said
        on {% for name, old in old_key.items() %}said.{{ trueup._quoted(name) }} <=> {{ old }} and {% endfor -%}
        said._error_key is null and said._order < moves._order
    group by moves._move

),

stored as ( -- and what the store has of it

    select
        {{ trueup._column_list(key) }},
        struct(_order, _digest, _length, _error_kind, _seq, _delete_order, _orders) as _old
        {%- for column in trueup._held_columns(collection) if column.i > 0 %},
        {{ column.value }} as _held_{{ column.i }}
        {%- endfor %}
    from {{ trueup._stored_relation(collection) }}
    where _kind in ('row', 'error', 'tombstone') and not _error_kind <=> 'order' and _error_key is null

),

inheriting as (

    select
        moves.*,
        array_max(array(
            _deleted_now,
            if(_old._delete_order < moves._order, _old._delete_order, null),
            if(_old._digest is null and _old._order < moves._order, _old._order, null)
        )) as _dead
        {%- if plan.has_truncates %},
        {{ trueup._newest_truncate_expr(collection, old_key, 'step._order < moves._order') if plan.ticks
            else trueup._of_bound_expr(collection, '_truncated', old_key) }} as _cut
        {%- endif %}
        {%- for column in values %}
        {%- set new, known, rival = '_new_' ~ column.i, column.order, '_rival_' ~ column.i %}
        {%- set is_tie = 'false' if collection.options.ties == 'greatest' else new ~ '._rank <> ~' ~ rival ~ '._rank' %},
        case -- a tie of the old key says nothing
            when {{ known }}._order < moves._order and coalesce({{ known }}._order > {{ new }}._order, true)
                then struct({{ known }}._order, _held_{{ column.i }} as _value, {{ known }}._error_kind)
            when {{ new }} is null then null
            when {{ is_tie }} or {{ known }}._order = {{ new }}._order and not {{ new }}._value <=> _held_{{ column.i }}
                then struct({{ new }}._order, {{ new }}._value, 'tie' as _error_kind)
            else struct({{ new }}._order, {{ new }}._value, {{ new }}._error_kind)
        end as _found_{{ column.i }}
        {%- endfor %}
    from origins as moves
    {%- if plan.has_truncates %}
    cross join bound
    {%- endif %}
    left join stored
        on {% for name, old in old_key.items() %}stored.{{ trueup._quoted(name) }} <=> {{ old }}{{ ' and ' if not loop.last }}{% endfor %}

),

inherited as ( -- `_known`: the unchanged columns that the old key had

    select
        *,
        filter(_unchanged, name -> case name
            {%- for column in values %}
            when {{ trueup._literal(column.name) }} then _found_{{ column.i }}._order is not null
                and _found_{{ column.i }}._error_kind is null and not coalesce(_found_{{ column.i }}._order <= _dead, false)
                {%- if plan.has_truncates %} and not coalesce(_found_{{ column.i }}._order < _cut, false){% endif %}
            {%- endfor %}
            else false
        end) as _known
    from inheriting

),

given as (

    select
        {{ trueup._column_list(key) }},
        _error_key,
        if(_is_known, null, 'origin') as _error_kind,
        if(_is_known, null, 'the columns that the change of key left unchanged are not known') as _error,
        {%- for column in values %}
        if(_is_known, _found_{{ column.i }}._value, null) as {{ column.value }},
        {%- endfor %}
        array_except(
            array({{ trueup._literal_list(values | map(attribute='name')) }}),
            if(_is_known, _known, array_except(inherited._unchanged, _known))
        ) as _unchanged,
        _order,
        'upsert' as _op,
        {%- if plan.ticks %}
        _tick,
        {%- endif %}
        _is_known,
        0 as _messages
    from inherited
    lateral view explode(array(true, false)) sides as _is_known
    where size(if(_is_known, _known, array_except(inherited._unchanged, _known))) > 0

),
{%- endif %}

{%- set names = trueup._column_list(
    key + ['_error_key', '_error_kind', '_error'] + values | map(attribute='name') | list
    + (['_unchanged'] if collection.is_partial else []) + ['_order', '_op']
    + (['_tick'] if plan.ticks else []) + ['_is_known', '_messages']
) %}

formed as (

    select {{ names }} from sided
    {%- if plan.inherits %}
    union all
    select {{ names }} from given
    {%- endif %}

)
{%- endmacro %}


{#-
    The order at which a batch must be cut, as a select of one JSON text: the least order of a change of key that leaves columns
    unchanged, and whose old key has in this batch a lower change of key from it, or one to it that leaves columns unchanged, too.
    Null if there is none.
-#}
{% macro _chain_select(collection, rows) -%}
with

formed as (

    select
        {%- for column in collection.columns if column.name in collection.key %}
        {{ trueup._given_value_expr(collection, column) }} as {{ trueup._quoted(column.name) }},
        {%- endfor %}
        _order,
        size({{ trueup._unchanged_names_expr(collection) }}) > 0 as _is_missing,
        {{ trueup._old_key_expr(collection) }} as _old_key
    from {{ trueup._subquery(rows) }}

),

steps as (

    select inline(array_compact(array(
        struct(_old_key as _key, _order, _is_missing, true as _left),
        if(
            _is_missing,
            struct(struct({{ trueup._column_list(collection.key) }}) as _key, _order, true as _is_missing, false as _left), null
        )
    )))
    from formed
    where _old_key is not null and not {{ trueup._lacks_order_expr() }}

)

select {{ trueup._exact_json_expr('min(_order)') }}
from (select *, min(_order) over (partition by _key) as _first from steps)
where _left and _is_missing and _order > _first
{%- endmacro %}


{#-
    The CTE `formed` of a batch without changes of key.

    Reads: `said`. Ends with: `formed`.
-#}
{% macro _same_key_ctes() -%}
formed as (

    select * from said

)
{%- endmacro %}
