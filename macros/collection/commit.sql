{#-
    The commit: one MERGE writes the history, the current rows and the batch row, or nothing. It is the compare-and-append
    of trueup: if the store no longer stands at the batch before, it raises.

    - Its source is the fold itself. The source has one row for each thing to do, and `_kind` says which.
    - A current row that changes becomes its own retraction: it moves into the history with its values. So the statement
      reads the key, order, digest and length of what is there, and no values.
    - Numbers that differ from run to run stand only in the last select and in the one row of the batch: Java compiles an
      expression with another literal again.
-#}
{% macro _commit_sql(collection, plan) -%}
{{ trueup._step_marker('commit') }}
merge into {{ collection.store }} as store
using (
    {{ trueup._changes_select(collection, plan) }}
) as changes
    on {{ trueup._same_key_expr(collection.key, 'store', 'changes') }}
    and store._error_key <=> changes._error_key
    and (store._error_kind <=> 'order') = (changes._error_kind <=> 'order' and changes._kind <> 'batch')
    and changes._kind in ('retraction', 'renewal', 'removal', 'batch')
    and (store._kind = 'batch') = (changes._kind = 'batch')
    -- The scan leaves out the history, and batch rows of long ago: this condition must not name the changes. Its bound changes
    -- only now and then.
    and (
        store._kind in ({{ trueup._current_kinds() }})
        or store._kind = 'batch' and store._seq >= {{ plan.seq - plan.seq % 64 }}
    )
    and (store._kind <> 'batch' or store._seq = changes._seq)
    {%- if plan.filter %}
    and (store._kind = 'batch' or {{ trueup._may_be_changed_expr(collection, plan.filter, 'store') }})
    {%- endif %}
when matched and changes._kind = 'batch' then update set
    _batch = raise_error(concat('upper mismatch: batch ', changes._seq, ' of {{ collection.store }} exists'))
{%- if trueup._file_format() == 'delta' %}
-- Delta cannot be asked for its version here, so an edit of the row shows only in the row itself.
when matched and changes._kind = 'retraction'
    and not store._digest <=> {{ trueup._row_digest_expr(collection, 'store.', 'store.') }}
    then update set
    _batch = raise_error('upper mismatch: a current row of {{ collection.store }} has changed')
{%- endif %}
when matched and changes._kind = 'renewal' then update set
    _order = changes._order,
    _delete_order = changes._delete_order,
    _orders = changes._orders,
    _seq = changes._seq
when matched and changes._kind = 'removal' then delete
when matched then update set
    _kind = 'update',
    _diff = -1,
    _seq = changes._seq,
    _ts = changes._ts,
    _cause = changes._cause
when not matched then insert (
    {{ trueup._column_list(trueup._store_names(collection)) }}
) values (
    if(
        changes._kind in ('retraction', 'renewal', 'removal'),
        raise_error('upper mismatch: a current row of {{ collection.store }} has changed'),
        changes._kind
    ),
    {{ trueup._column_list(trueup._store_names(collection)[1:], alias='changes') }}
)
{%- endmacro %}


{#-
    What the next batch does, as a select with one row for each thing to do. `_kind` is that of the row to write, or
    `retraction` (a current row becomes one), `renewal` (it gets a newer order) or `removal` (a tombstone goes away).

    `plan` has what the look has found: see `_ensure_batch_plan`.
-#}
{% macro _changes_select(collection, plan) -%}
    {%- set key, values = collection.key, collection.value_names -%}
    {#- What the row of a key was before: in a log with ticks, before the tick. -#}
    {%- set before = '_before' if plan.ticks else '_old' -%}
    {#- The order of the newest commands of a key: in a log with ticks, also of earlier ticks of the batch. -#}
    {%- set newest_order = '_top' if collection.is_partial else '_new._order' -%}
    {%- set key_values = {} -%}
    {%- for name in key + ['_error_key'] -%}
        {%- set column = trueup._quoted(name) -%}
        {%- do key_values.update({
            name: 'if(newest._commands is null, held.' ~ column ~ ', newest.' ~ column ~ ')' if plan.reads_all else 'newest.' ~ column
        }) -%}
    {%- endfor -%}
    {%- set row_type = '_order, {0}._digest, {0}._length, {0}._error_kind' ~ (', {0}._delete_order, {0}._orders' if collection.is_partial) -%}
with

{% if collection.is_log -%}
{{ trueup._commands_ctes(collection, plan) }},

{{ trueup._newest_command_ctes(collection, plan) }},
{%- else -%}
{{ trueup._desired_ctes(collection, plan.rows) }},
{%- endif %}

held as ( -- what the store has of their keys, without the values

    {% set of_order = '_error_kind <=> \'order\'' -%}
    {%- set old = 'struct(_order, _digest, _length, _error_kind, _seq, _delete_order, _orders)' -%}
    select
        {{ trueup._column_list(key) }},
        _error_key,
        {%- if plan.has_unordered %}
        -- The error of a command without an order stands beside the row of its key.
        any_value({{ old }}) filter (where not {{ of_order }}) as _old,
        any_value(struct(_digest, _length)) filter (where {{ of_order }}) as _open
        {%- for column in trueup._held_columns(collection) if collection.is_partial %},
        any_value({{ column.value }}) filter (where not {{ of_order }}) as _held_{{ column.i }}
        {%- endfor %}
        {%- else %}
        {{ old }} as _old
        {%- for column in trueup._held_columns(collection) if collection.is_partial %},
        {{ column.value }} as _held_{{ column.i }}
        {%- endfor %}
        {%- endif %}
    from {{ trueup._stored_relation(collection) }} as store
    where
        _kind in ({{ trueup._current_kinds() }})
        {%- if plan.filter %}
        and {{ trueup._may_be_changed_expr(collection, plan.filter, 'store') }}
        {%- endif %}
        {%- if plan.has_unordered %}
    group by {{ trueup._column_list(key) }}, _error_key
        {%- else %}
        and not {{ of_order }}
        {%- endif %}

),

joined as (

    select
        {%- for name, value in key_values.items() %}
        {{ value }} as {{ trueup._quoted(name) }},
        {%- endfor %}
        newest.* except ({{ trueup._column_list(key) }}, _error_key),
        held.* except ({{ trueup._column_list(key) }}, _error_key),
        {%- if plan.has_truncates %}
        {{ trueup._newest_truncate_expr(collection, key_values, 'step._tick <= newest._tick') if plan.ticks
            else trueup._of_bound_expr(collection, '_truncated', key_values) }} as _truncated,
        {{ trueup._of_bound_expr(collection, '_is_truncated_now', key_values) }} as _is_truncated_now,
        {%- endif %}
        {{ plan.since }}L as _since
    from newest
    {{ 'full outer' if plan.reads_all else 'left' }} join held
        on {{ trueup._same_key_expr(key + ['_error_key'], 'newest', 'held') }}
    {%- if plan.has_truncates %}
    cross join bound
    {%- endif %}

),

{{ trueup._judged_ctes(collection, plan) }},

{% if plan.ticks -%}
{{ trueup._span_ctes(collection, plan) }},

{% endif -%}
decided as (

    select
        *,
        case
            when _verdict in ('taken', 'tie') and _next._digest is null and {{ before }} is null then 'absent'
            when _verdict in ('taken', 'tie') and _next._digest <=> {{ before }}._digest then 'renewed'
            when _verdict in ('taken', 'tie') and _next._digest is null then 'deleted'
            when _verdict in ('taken', 'tie') and {{ before }}._digest is null then 'inserted'
            when _verdict in ('taken', 'tie') then 'updated'
            {%- if plan.has_truncates %}
            when {{ before }}._order < _truncated then 'truncated'
            {%- endif %}
            else 'none'
        end as _change
        {%- if plan.has_unordered %},
        case
            {%- if plan.ticks %}
            when _tick <> _last_tick then 'none'
            {%- endif %}
            {%- set unordered = 'sum(_unordered) over (partition by ' ~ trueup._column_list(key + ['_error_key']) ~ ')'
                if plan.ticks else '_unordered' %}
            when {{ unordered }} is not null then if(_open is null, 'opened', 'none')
            when _open is null then 'none'
            {%- if plan.new_truncates %}
            when _is_truncated_now then 'closed'
            {%- endif %}
            when {{ newest_order }} is null or {{ newest_order }} <= _old._order then 'none'
            {%- if plan.has_truncates %}
            when {{ newest_order }} <= _truncated then 'none'
            {%- endif %}
            else 'closed'
        end as _order_change
        {%- endif %}
    from {{ 'spans' if plan.ticks else 'judged' }}

),

{{ trueup._batch_ctes(collection, plan) }},

done as (

    select
        {{ trueup._column_list(key) }}, _error_key, _next, _value, null as _batch,
        {{ trueup._cause_expr(collection, plan) }} as _cause,
        {%- if plan.ticks %}
        _tick,
        _last_changed,
        {{ trueup._todo_of_tick_expr(plan) }} as _todo
        {%- else %}
        concat(
            case _change
                when 'absent' then array('tombstone')
                when 'renewed' then array('renewal')
                when 'inserted' then if(_old is null, array('update', 'current'), array('removal', 'update', 'current'))
                when 'updated' then array('retraction', 'update', 'current')
                when 'deleted' then array('retraction'{{ ", 'tombstone'" if collection.is_log }})
                when 'truncated' then if(_old._digest is null, array('removal'), array('retraction'))
                else cast(array() as array<string>)
            end
            {%- if plan.has_unordered %},
            case _order_change
                when 'opened' then array('order_update', 'order_current')
                when 'closed' then array('order_retraction')
                else cast(array() as array<string>)
            end
            {%- endif %}
        ) as _todo
        {%- endif %}
    from decided
    {%- if not plan.ticks %}
    -- Spark computes `decided` once for each of its two uses. They share a shuffle only if they read the same columns. So this
    -- condition, which always holds, reads `_commands`.
    where coalesce(_commands, 0) >= 0
    {%- endif %}

    {% if plan.ticks -%}
    union all

    -- The row of an earlier tick of this batch is taken back.
    select
        {{ trueup._column_list(key) }}, _error_key, struct({{ ('_before.' ~ row_type).format('_before') }}), _value_before, null,
        {{ trueup._cause_expr(collection, plan) }}, _tick, null, array('taken_back')
    from decided
    where not _next._digest <=> _before._digest and _before._digest is not null and _tick > _first_changed

    {% endif -%}
    union all

    select
        {% for _ in key -%} null, {% endfor -%} null, null, null, _batch, null, {{ 'null, null, ' if plan.ticks }}array('batch')
    from batch

)

select
    case
        when _do = 'current' then if(_next._error_kind is null, 'row', 'error')
        when _do = 'order_current' then 'error'
        when _do in ('order_update', 'taken_back') then 'update'
        when _do = 'order_retraction' then 'retraction'
        else _do
    end as _kind,
    {{ plan.seq }}L as _seq,
    {% if plan.ticks -%}
    case when _do = 'batch' then {{ plan.ts }} when _do = 'current' then _last_changed else _tick end as _ts,
    case when _do in ('update', 'order_update') then 1 when _do = 'taken_back' then -1 end as _diff,
    {%- else -%}
    {{ plan.ts }}L as _ts,
    if(_do in ('update', 'order_update'), 1, null) as _diff,
    {%- endif %}
    _cause,
    if(_do like 'order%', 'order', _next._error_kind) as _error_kind,
    _error_key,
    case
        when _do like 'order%' then {{ trueup._literal(trueup._order_error_text()) }}
        when _next._error_kind = 'tie' then {{ trueup._literal(trueup._tie_text()) }}
        else _value._error
    end as _error,
    if(_do like 'order%', null, {{ trueup._order_text_expr(collection, '_order', '_next._order') }}) as _order,
    if(_do like 'order%', {{ trueup._error_digest_expr(collection, 'order', trueup._order_error_text()) }}, _next._digest)
        as _digest,
    if(_do like 'order%', {{ trueup._error_length('order', trueup._order_error_text()) }}, _next._length) as _length,
    {%- if collection.is_partial %}
    {%- for name in ['_delete_order', '_orders'] %}
    if(_do like 'order%', null, {{ trueup._order_text_expr(collection, name, '_next.' ~ name) }}) as {{ name }},
    {%- endfor %}
    {%- else %}
    cast(null as string) as _delete_order,
    cast(null as string) as _orders,
    {%- endif %}
    _batch,
    {%- for name in key %}
    {{ trueup._quoted(name) }},
    {%- endfor %}
    {%- for name in values %}
    if(_do like 'order%' or _next._error_kind is not null, null, _value.{{ trueup._quoted(name) }})
        as {{ trueup._quoted(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
from done
-- `outer`, because Spark would copy the condition that there is something to do down to the fold.
lateral view outer explode(_todo) todo as _do
where _do is not null
{%- endmacro %}


{#-
    The CTEs up to `judged`: what each key becomes. `_verdict` says whether its commands take effect, `_value` is its content,
    and `_next` has the order, digest, length and kind of error of its current row. Each CTE is a level of its own, because Spark cannot
    resolve columns that refer to each other in this place.

    Reads: `joined`. Ends with: `judged`.
-#}
{% macro _judged_ctes(collection, plan) -%}
    {%- if collection.is_partial -%}
{{ trueup._judged_column_ctes(collection, plan) }}
    {%- else -%}
        {%- set new = '_settled' if collection.options.ties == 'place' else '_new' -%}
        {%- if collection.options.ties == 'place' -%}
{{ trueup._settled_ctes(collection, plan) }},
        {%- else -%}
ruled as (

    select
        *,
        {%- if collection.is_log %}
        {{ trueup._verdict_expr(collection, plan.has_truncates) | indent(8) }} as _verdict
        {%- else %}
        if(_new._digest <=> _old._digest, 'superseded', 'taken') as _verdict
        {%- endif %}
    from joined

),
        {%- endif %}

judged as ( -- what each key becomes

    select
        *,
        case _verdict
            when 'taken' then struct(
                {{ new }}._order, {{ new }}._digest, {{ new }}._length,
                {{ '_value._error_kind' if new == '_new' else 'if(_is_held, _old._error_kind, _value._error_kind) as _error_kind' }}
            )
            when 'tie' then struct(
                {{ new }}._order,
                {{ trueup._error_digest_expr(collection, 'tie', trueup._tie_text()) }} as _digest,
                {{ trueup._error_length('tie', trueup._tie_text()) }}L as _length,
                'tie' as _error_kind
            )
            {%- if plan.has_truncates %}
            else if(_old._order < _truncated, null, struct(_old._order, _old._digest, _old._length, _old._error_kind))
            {%- else %}
            else struct(_old._order, _old._digest, _old._length, _old._error_kind)
            {%- endif %}
        end as _next
    from ruled

)
    {%- endif -%}
{%- endmacro %}


{#- Why a key changes, as an SQL expression: null if its newest command is simply newer. -#}
{% macro _cause_expr(collection, plan) -%}
    {%- if plan.cause == 'adopted' -%}
        {{ return("'adopted'") }}
    {%- endif -%}
    {%- set whens = [] -%}
    {%- if plan.cause -%}
        {%- do whens.append(
            'when _old is not null and ' ~ trueup._is_same_order_expr(collection, '_next._order', '_old._order')
            ~ " then if(_old._error_kind = 'value' and _next._error_kind is null, 'error_fixed', " ~ trueup._literal(plan.cause) ~ ')'
        ) -%}
    {%- endif -%}
    {%- if plan.ticks and plan.seq > 1 -%}
        {%- do whens.append(
            'when ' ~ (trueup._late_of_row_expr(collection, plan) ~ ' > 0' if collection.is_partial else '_new._order._1 < ' ~ plan.ticks.lower)
            ~ ' and _tick = ' ~ plan.ticks.lower ~ " then 'late_command'"
        ) -%}
    {%- endif -%}
    {{ return('case ' ~ (whens | join(' ')) ~ ' end' if whens else 'cast(null as string)') }}
{%- endmacro %}


{#- What the error of a key says that has a command without an order. -#}
{% macro _order_error_text() -%}
    {{ return('a command of this key has no order') }}
{%- endmacro %}


{#- The digest of an error whose text and kind are known and which has no values. -#}
{% macro _error_digest_expr(collection, kind, text) -%}
    {%- set key = trueup._hash_terms(trueup._store_identity(collection), '').hashed -%}
xxhash64({{ key | join(', ') }}, xxhash64('_error'), {{ trueup._literal(text) }}, xxhash64('_error_kind'), {{ trueup._literal(kind) }})
{%- endmacro %}


{#- The length of such an error, in bytes: that of its text and its kind. -#}
{% macro _error_length(kind, text) -%}
    {{ return(kind | length + text | length) }}
{%- endmacro %}
