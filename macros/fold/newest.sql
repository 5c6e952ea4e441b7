{#-
    The fold: of each key the newest command. Its parts are CTEs of the one MERGE (`commit.sql`), which reads from top to
    bottom. Two sets of them exist: for whole commands here, for partial commands in `columns_of_commands.sql`.

    An identity is the key and `_error_key`. A key error has no key, and a row has no `_error_key`.
-#}

{#-
    The CTE `commands`: the commands of the log, one row each, in the form in which they are compared. A delete has no
    `_value` and no digest.

    Reads: the log or a part of it. Ends with: `commands`.
-#}
{% macro _commands_ctes(collection, plan) -%}
    {%- set key, values = collection.key, collection.value_names -%}
read as ( -- one form for each value; an error has no values, and a key error has no key

    select
        {%- for column in collection.columns if column.name in key %}
        if(_error_key is null, {{ trueup._given_value_expr(collection, column) }}, null)
            as {{ trueup._quoted(column.name) }},
        {%- endfor %}
        _error_key,
        case
            when _op = 'delete' then null
            when _error_key = 'null' then 'null_key'
            when _error_key is not null then 'key'
            when _error is not null then 'value'
        end as _error_kind,
        case
            when _op = 'delete' then null
            when _error_key = 'null' then 'the key is null'
            when _error_key is not null then 'the key cannot be decoded'
            else _error
        end as _error,
        {%- for column in collection.columns if column.name not in key %}
        if(_op = 'upsert' and _error_key is null and _error is null,
            {{ trueup._given_value_expr(collection, column) }}, null)
            as {{ trueup._quoted(column.name) }},
        {%- endfor %}
        {%- if collection.is_partial %}
        {{ trueup._unchanged_names_expr(collection) }} as _unchanged,
        {%- endif %}
        _order,
        _op
        {%- if collection.has_place %},
        cast(_place as {{ trueup._place_type() }}) as _place
        {%- endif %}
        {%- if plan.ticks %},
        -- A late command acts at the lower of the batch.
        greatest(coalesce(_ts, {{ plan.ticks.lower }}), {{ plan.ticks.lower }}) as _tick
        {%- endif %}
        {%- if collection.has_old_key %},
        {{ trueup._old_key_expr(collection) }} as _old_key
        {%- endif %}
        {%- if plan.moves %},
        true as _is_known,
        1 as _messages
        {%- endif %}
    from {{ trueup._subquery(plan.rows) }}

)
,

{% if plan.arrives -%}
{{ trueup._arrival_ctes(collection, plan) }},

{% endif -%}
said as (

    {% if plan.arrives -%}
    {{ trueup._arrived_select(collection, plan) | indent(4) }}
    {%- else -%}
    select read.* from read
    {%- endif %}
    {%- if plan.ticks and plan.ticks.drops_again %}
    -- This run reads commands again. Those that are late and that their key has not seen are dropped again.
    left join {{ trueup._stored_relation(collection) }} as store
        on {{ trueup._same_key_expr(key + ['_error_key'], 'store', 'read') }}
        and store._kind in ({{ trueup._current_kinds() }})
        and not store._error_kind <=> 'order'
    where coalesce(read._order._1 >= {{ plan.ticks.lower }} or read._order <= store._order, read._order._1 is null)
    {%- endif %}

)
{%- if plan.has_truncates -%},

{{ trueup._bound_ctes(collection, plan) }}
{%- endif -%}
,

{{ trueup._moved_key_ctes(collection, plan) if plan.moves else trueup._same_key_ctes() }}
{%- if not collection.is_partial -%},

commands as ( -- a digest and a length stand for the content of a command; a delete has none

    select
        {{ trueup._column_list(key) }},
        _error_key,
        _op,
        _order,
        {%- if plan.ticks %}
        _tick,
        {%- endif %}
        {%- if plan.moves %}
        _messages,
        {%- endif %}
        {%- if collection.options.ties == 'place' %}
        {{ '_place' if collection.has_place else 'cast(null as ' ~ trueup._place_type() ~ ')' }} as _place,
        {%- endif %}
        if(_op = 'delete', null, struct({{ trueup._column_list(values) }}, _error, _error_kind)) as _value,
        if(_op = 'delete', null, {{ trueup._row_digest_expr(collection) }}) as _digest,
        if(_op = 'delete', null, {{ trueup._row_length_expr(collection) }}) as _length
    from formed
    where {{ trueup._is_command_of_a_key_expr(collection, plan) }}

)
{%- endif -%}
{%- endmacro %}


{#-
    The CTE `bound`, one row: the order of the newest truncate, of earlier batches and of this one. A truncate deletes every key
    with a lower order, also in commands that arrive later. With `truncate_scope` the row has a map of them, by the texts of the
    scope, because the orders of two sources do not compare: see `_of_bound_expr`.

    Reads: `said`. Ends with: `bound`.
-#}
{% macro _bound_ctes(collection, plan) -%}
    {%- set scope = collection.options.truncate_scope -%}
    {%- set more = ', _tick' if plan.ticks else '' -%}
bound as (

    select
        {%- if scope %}
        map_from_entries(collect_list(struct(_scope, _bound))) as _bounds,
        coalesce(sum(_bound._truncates_read), 0) as _truncates_read
    from (
        select _scope, struct(
        {%- endif %}
        max(_order) as _truncated,
        coalesce(
            max(_order) filter (where _is_new) > max(_order) filter (where not _is_new), count_if(_is_new) > 0
        ) as _is_truncated_now,
        count_if(_is_new) as _truncates_read
        {%- if plan.ticks %},
        max(_order) filter (where not _is_new) as _truncated_before,
        coalesce(collect_set(struct(_order, _tick)) filter (where _is_new), array()) as _truncates
        {%- endif %}
        {%- if scope %}
        ) as _bound
        {%- endif %}
    from (
        {%- if plan.new_truncates %}
        select _order, true as _is_new{{ more }}{{ ', ' ~ trueup._scope_expr(scope) ~ ' as _scope' if scope }}
        from said
        where _op = 'truncate'
        union all
        {%- endif %}
        {%- if plan.ended %}
        select {{ trueup._order_from_json_expr(collection, plan.ended) }} as _order, true as _is_new
        union all
        {%- endif %}
        {%- if scope %}
        select {{ trueup._parsed_order_expr(collection, 'text') }} as _order, false as _is_new{{ ', cast(null as bigint) as _tick' if plan.ticks }},
            scope as _scope
        from (select inline(from_json({{ trueup._literal(tojson(plan.truncated or [])) }}, 'array<struct<scope: array<string>, text: string>>')))
        {%- else %}
        select {{ trueup._order_from_json_expr(collection, plan.truncated) }} as _order, false as _is_new
            {{- ', cast(null as bigint) as _tick' if plan.ticks }}
        {%- endif %}
    )
    {%- if scope %}
    group by _scope
    )
    {%- endif %}

)
{%- endmacro %}


{#- The texts of the columns of `truncate_scope`, as an SQL array. `values` may give another expression for a column. -#}
{% macro _scope_expr(scope, values={}) -%}
    {%- set items = [] -%}
    {%- for name in scope -%}
        {%- do items.append('string(' ~ values.get(name, trueup._quoted(name)) ~ ')') -%}
    {%- endfor -%}
    {{ return('array(' ~ (items | join(', ')) ~ ')') }}
{%- endmacro %}


{#- A column of `bound` for a key; null if nothing of its scope was truncated. `values` has the expressions of its columns. -#}
{% macro _of_bound_expr(collection, name, values) -%}
    {%- set scope = collection.options.truncate_scope -%}
    {{ return('try_element_at(_bounds, ' ~ trueup._scope_expr(scope, values) ~ ').' ~ name if scope else name) }}
{%- endmacro %}


{#-
    A condition: whether a row of the log is a command of a key. It raises if the log has a kind of commands that the look
    has not seen: a log without snapshots may grow between two statements.
-#}
{% macro _is_command_of_a_key_expr(collection, plan) -%}
    {%- set moved = "raise_error('upper mismatch: the log grew while this run read it')" -%}
    {{ return(
        'case when ' ~ trueup._lacks_order_expr() ~ " and _op <> 'truncate' then " ~ ('true' if plan.has_unordered else moved)
        ~ " when _op = 'truncate' then " ~ ('false' if plan.new_truncates else moved)
        ~ (' when _old_key is not null then ' ~ moved if collection.has_old_key and not plan.moves) ~ ' else true end'
    ) }}
{%- endmacro %}


{#-
    How many messages of a key have no order, as an aggregate; null if no command lacks one. A change of key is a message of the
    new key alone, but without an order nobody knows the old one either.
-#}
{% macro _unordered_expr(plan) -%}
    {%- set lacks = trueup._lacks_order_expr() -%}
    {{ return('sum(_messages) filter (where ' ~ lacks ~ ')' if plan.moves else 'nullif(count_if(' ~ lacks ~ '), 0)') }}
{%- endmacro %}


{#- Whether a command lacks an order, as an SQL expression. -#}
{% macro _lacks_order_expr(prefix='') -%}
    {%- set order = prefix ~ '_order' -%}
    {{ return('(' ~ order ~ '._1 is null and ' ~ order ~ '._epoch > ' ~ trueup._adopted_epoch() ~ ')') }}
{%- endmacro %}


{#- The rank of a delete among commands of one key and order: below or above every upsert. -#}
{% macro _delete_rank(ties) -%}
    {{ return('9223372036854775807L' if ties == 'prefer_delete' else '(-9223372036854775807L - 1L)') }}
{%- endmacro %}


{#-
    The CTE `newest`: of each key the newest command, how many commands it had, and whether another command of the
    greatest order has another content.

    Reads: `commands`. Ends with: `newest`.
-#}
{% macro _newest_command_ctes(collection, plan) -%}
    {%- set ties = collection.options.ties -%}
    {%- set rank = 'coalesce(_digest, ' ~ trueup._delete_rank(ties) ~ ')' -%}
    {%- set ordered = ' filter (where not ' ~ trueup._lacks_order_expr() ~ ')' if plan.has_unordered else '' -%}
{%- if collection.is_partial -%}
{{ trueup._newest_column_ctes(collection, plan) }}
{%- elif ties == 'place' -%}
{{ trueup._newest_content_ctes(collection, plan) }}
{%- else -%}
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
        max(struct(_order, {{ rank }} as _rank, _digest, _length)){{ ordered }} as _new,
        max_by(_value, struct(_order, {{ rank }})){{ ordered }} as _value,
        {#- `~` reverses the order of the numbers, so this finds the least rank of the greatest order. #}
        max(struct(_order, {{ '~' ~ rank if ties in ['error', 'fail'] else '~_digest' }} as _rank))
            {{ ordered }} as _rival
    from commands
    group by {{ trueup._column_list(collection.key) }}, _error_key{{ ', _tick' if plan.ticks }}

)
,

{{ trueup._running_ctes(collection, plan, {
    '_new': 'max(_new)', '_value': 'max_by(_value, struct(_new._order, _new._rank))', '_rival': 'max(_rival)',
}) }}
{%- endif -%}
{%- endmacro %}


{#- Whether the newest commands of a key in this batch are a tie, as an SQL expression. -#}
{% macro _is_tie_expr(ties) -%}
    {%- if ties == 'greatest' -%}
        {{ return('false') }}
    {%- elif ties == 'prefer_delete' -%}
        {{ return('(_new._digest is not null and _new._rank <> ~_rival._rank)') }}
    {%- endif -%}
    {{ return('coalesce(_new._rank <> ~_rival._rank, false)') }}
{%- endmacro %}


{#-
    Whether a command takes effect, given what its key has, as an SQL expression: `taken`, `tie`, `superseded` or
    `dead` (a later truncate has deleted it).
-#}
{% macro _verdict_expr(collection, has_truncates) -%}
    {%- set ties = collection.options.ties -%}
    {%- set is_tie = trueup._is_tie_expr(ties) -%}
case
            when _new is null then 'none'
            {%- if has_truncates %}
            when _new._order < _truncated then 'dead'
            {%- endif %}
            when not coalesce(_new._order <= _old._order, false) then if({{ is_tie }}, 'tie', 'taken')
            when _new._order < _old._order then 'superseded'
            -- Of two commands of equal order, the one that the present code of the model has read replaces the other.
            when _old._seq < _since then if({{ is_tie }}, 'tie', 'taken')
            when _old._error_kind = 'tie'{{ ' and _new._digest is not null' if ties == 'prefer_delete' }} then 'superseded'
            when not {{ is_tie }} and _new._digest <=> _old._digest then 'superseded'
            {%- if ties == 'greatest' %}
            else if(_new._rank > coalesce(_old._digest, {{ trueup._delete_rank(ties) }}), 'taken', 'superseded')
            {%- elif ties == 'prefer_upsert' %}
            when _old._digest is null then if({{ is_tie }}, 'tie', 'taken')
            when _new._digest is null then 'superseded'
            else 'tie'
            {%- elif ties == 'prefer_delete' %}
            when _new._digest is null then 'taken'
            when _old._digest is null then 'superseded'
            else 'tie'
            {%- else %}
            else 'tie'
            {%- endif %}
        end
{%- endmacro %}


{#- The value of a column in this run's SELECT, in the type and form of the store; null if the SELECT lacks the column. -#}
{% macro _given_value_expr(collection, column) -%}
    {%- set given = collection.given_types.get(column.name | lower) -%}
    {{ return(
        'cast(null as ' ~ trueup._sql_type(column.type) ~ ')' if given is none
        else trueup._one_form_expr(column, given, 'the SELECT of ' ~ collection.name)
    ) }}
{%- endmacro %}


{#-
    The CTE `newest` of a collection by a SELECT: the desired rows. A SELECT may return `_error`. Raises if two rows have
    the same key.

    Reads: the SELECT of the model. Ends with: `newest`.
-#}
{% macro _desired_ctes(collection, rows) -%}
formed as (

    select
        {%- for column in collection.columns if column.name in collection.key %}
        {{ trueup._given_value_expr(collection, column) }} as {{ trueup._quoted(column.name) }},
        {%- endfor %}
        cast(null as string) as _error_key,
        {{ 'cast(_error as string)' if collection.has_error else 'cast(null as string)' }} as _error,
        {{ "if(_error is null, null, 'value')" if collection.has_error else 'cast(null as string)' }} as _error_kind,
        {%- for column in collection.columns if column.name not in collection.key %}
        {{ 'if(_error is null, ' if collection.has_error }}{{ trueup._given_value_expr(collection, column) }}{{ ', null)' if collection.has_error }}
            as {{ trueup._quoted(column.name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ trueup._subquery(rows) }}

),

newest as (

    select
        {{ trueup._column_list(collection.key) }},
        _error_key,
        if(count(*) = 1, 1, raise_error(concat(
            'Each key of {{ collection.name }} must be in one row of its SELECT.\nGot: ', count(*), ' rows of the key ',
            to_json(struct({{ trueup._column_list(collection.key) }})), '\nNothing is written. Correct the SELECT or `unique_key`.'
        ))) as _commands,
        any_value(struct(
            cast(null as {{ trueup._sql_type(collection.order_type) }}) as _order,
            {{ trueup._row_digest_expr(collection) }} as _digest,
            {{ trueup._row_length_expr(collection) }} as _length
        )) as _new,
        any_value(struct({{ trueup._column_list(collection.value_names) }}, _error, _error_kind)) as _value
    from formed
    group by {{ trueup._column_list(collection.key) }}, _error_key

)
{%- endmacro %}


{#- What the row of a key says whose newest commands are a tie. -#}
{% macro _tie_text() -%}
    {{ return('two commands of this key have the same order and another content') }}
{%- endmacro %}


{#- The epoch of rows that were there before the log. -#}
{% macro _adopted_epoch() -%}
    {{ return('-2147483648') }}
{%- endmacro %}


{#- A condition: whether the batch may have a command for the key of this current row. -#}
{% macro _may_be_changed_expr(collection, filter, alias) -%}
    {%- set bit = 'pmod(' ~ trueup._identity_hash_expr(collection, alias ~ '.') ~ ', ' ~ filter | length * 4 ~ ')' -%}
    {{ return(
        "bit_get(ascii(cast(substring(cast('" ~ filter ~ "' as binary), cast(" ~ bit ~ ' div 8 * 2 + if(' ~ bit
        ~ ' % 8 >= 4, 1, 2) as int), 1) as string)) - 48, cast(' ~ bit ~ ' % 4 as int)) = 1'
    ) }}
{%- endmacro %}
