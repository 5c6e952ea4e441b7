{#-
    Fails on each key whose row differs from what the log says, by plain SQL of its own: it shares no rule with the fold of a
    run. For each key and column the newest command counts that gives the column, after the newest delete and truncate. It
    reads the log up to the place of the newest batch.

    It leaves out keys of which it cannot know: those in error, those whose newest commands are a tie, and those of which
    the log has lost the newest command.
-#}
{% test agrees_with_log(
    model, log, key, columns, sequence_by=none, messages=none, extract=none, delete_when='false', truncate_when='false',
    skip_when='false', error='null', error_key='null', unchanged=none, unchanged_value=none, ignore_null_updates=none, old_key=none, ts=none,
    snapshot=none, truncate_scope=[], sample=none, max_left_out=none
) %}
    {%- do trueup._require_whole_table('agrees_with_log') -%}
    {%- do trueup._require_list(trueup._argument('agrees_with_log', 'key'), key) -%}
    {%- set table = log -%}
    {%- if messages -%}
        {%- set given = trueup._decoded_arguments(messages.macro, trueup._given_messages(messages, log), key) -%}
        {%- set log, sequence_by, ts, delete_when, truncate_when = given.relation, given.sequence_by, given.ts, given.delete_when, given.truncate_when -%}
        {%- set error, error_key, unchanged, old_key = given.error, given.error_key, given.unchanged, given.old_key -%}
        {%- set snapshot = given.snapshot -%}
    {%- elif extract -%}
        {%- set log = trueup.snapshot_commands(log, key, extract) -%}
    {%- endif -%}
    {%- do trueup._require_list(trueup._argument('agrees_with_log', 'sequence_by'), sequence_by, are_names=false) -%}
    {%- do trueup._require_list(trueup._argument('agrees_with_log', 'columns'), columns) -%}
    {%- set nulls = ignore_null_updates -%}
    {%- set is_partial = unchanged is not none or unchanged_value is not none or nulls not in [none, false] -%}
    {#- To compile needs no warehouse. -#}
    {%- set is_run = execute and flags.WHICH not in ['compile', 'generate'] -%}
    {%- set facts = trueup._get_facts_of_test(model, table, log, key, sample, is_partial) if is_run else {
        'store': model, 'stored': model, 'log': trueup._log_with_epoch_select(log, 0), 'upper': none, 'key_type': 'struct<>', 'texts': {},
        'in_sample': 'true', 'in_sample_of_store': 'true'
    } -%}
    {%- set keys = trueup._column_list(key) -%}
    {%- set tick = trueup._tick_expr(ts, trueup._argument('agrees_with_log', 'ts')) if ts -%}
    {%- set terms = [tick] if ts else [] -%}
    {%- for term in sequence_by -%}
        {%- do terms.append(trueup._order_in_snapshot_expr(term, {'snapshot': snapshot}, loop.index0)) -%}
    {%- endfor -%}
    {%- set order -%}
named_struct('_epoch', _log_epoch{% for term in terms %}, '_{{ loop.index }}', {{ term }}{% endfor %})
    {%- endset -%}
    {%- set stored_order -%}
named_struct('_epoch', {0}._epoch{% for _ in terms %}, '_{{ loop.index }}', {0}._{{ loop.index }}{% endfor %})
    {%- endset -%}
    {#- The newest orders that the log has of a key, and those that the store has. -#}
    {%- set seen, held, store_orders = ['_newest'], ['_held'], [stored_order | replace('{0}', 'store._order')] -%}
    {%- if is_partial -%}
        {%- set orders = {'_deleted': 'store._delete_order'} -%}
        {%- for column in columns -%}
            {%- do orders.update({'_given_' ~ loop.index: 'store._orders[' ~ trueup._literal(column | lower) ~ ']._order'}) -%}
        {%- endfor -%}
        {%- for name, given in orders.items() -%}
            {%- do seen.append(name) -%}
            {%- do held.append('_held' ~ name) -%}
            {%- do store_orders.append('if(' ~ given ~ ' is not null, ' ~ stored_order | replace('{0}', given) ~ ', null)') -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set has_truncates = truncate_when != 'false' or snapshot -%}
with

log as (

    {#- Spark plans a decoded message anew in each place that reads it, unless each query may give other rows. #}
    select *{{ ', monotonically_increasing_id() as _log_row' if messages }} from {{ facts.log }} as numbered
    where not coalesce({{ skip_when }}, false)
    {%- if ts and facts.upper is not none %}
        and {{ tick }} < {{ facts.upper }}
    {%- endif %}

),

said as (

    select
        {{ keys }},
        {{ order }} as _log_order,
        coalesce({{ delete_when }}, false) as _log_delete,
        cast({{ error }} as string) as _log_error,
        {%- if old_key %}
        cast({{ old_key }} as {{ facts.key_type }}) as _log_old_key,
        {%- endif %}
        {%- for column in columns %}
        {%- set name = trueup._quoted(column) %}
        {%- set except = nulls['except'] if nulls is mapping else [] %}
        {%- set ignores_null = nulls is true or nulls is mapping and column not in except
            or nulls is iterable and nulls is not mapping and column in nulls %}
        not coalesce({{ delete_when }}, false)
            {%- set type = facts.texts.get(column | lower) %}
            {%- if ignores_null and type %} and coalesce({{ trueup._json_text_expr(name, type) }} <> 'null', false)
            {%- elif ignores_null %} and {{ name }} is not null{% endif %}
            {%- if unchanged_value is not none %} and not string({{ name }}) <=> {{ trueup._literal(unchanged_value) }}{% endif %}
            {%- if unchanged %} and not coalesce(array_contains(
                transform(cast({{ unchanged }} as array<string>), each -> lower(each)), {{ trueup._literal(column | lower) }}
            ), false){% endif %} as _log_gives_{{ loop.index }},
        {%- endfor %}
        {{ trueup._one_form_list(columns, facts.texts) }}
    from log
    where
        not coalesce({{ truncate_when }}, false)
        and {{ terms[0] }} is not null
        and {{ error_key }} is null

),

commands as (

    {%- if old_key %}
    {%- set is_moved = "to_json(_log_old_key) <> '{}' and not _log_old_key <=> cast(struct(" ~ keys ~ ') as ' ~ facts.key_type ~ ')' %}

    select *
    from (
        select -- a change of key deletes the old key
            {%- for name in key %}
            if(_log_is_old, _log_old_key.{{ trueup._quoted(name) }}, {{ trueup._quoted(name) }}) as {{ trueup._quoted(name) }},
            {%- endfor %}
            _log_order,
            _log_delete or _log_is_old as _log_delete,
            if(_log_is_old, null, _log_error) as _log_error,
            {%- for _ in columns %}
            _log_gives_{{ loop.index }} and not _log_is_old as _log_gives_{{ loop.index }},
            {%- endfor %}
            {%- if is_partial %}
            not _log_is_old and to_json(_log_old_key) <> '{}' -- columns of the old key
                and not ({% for _ in columns %}_log_gives_{{ loop.index }}{{ ' and ' if not loop.last }}{% endfor %}) as _log_inherits,
            {%- endif %}
            {{ trueup._column_list(columns) }}
        from (
            select *, explode(if(not _log_delete and {{ is_moved }}, array(false, true), array(false))) as _log_is_old from said
        )
    )
    where {{ facts.in_sample }}
    {%- else %}

    select * from said where {{ facts.in_sample }}
    {%- endif %}

),

{%- if has_truncates %}

truncates as (

    {%- set scope = trueup._column_list(truncate_scope) ~ ', ' if truncate_scope else '' %}

    select {{ scope }}max(_truncated) as _truncated
    from (
        select {{ scope }}{{ order }} as _truncated
        from log
        where coalesce({{ truncate_when }}{{ ' or ' ~ snapshot.end if snapshot }}, false) and {{ terms[0] }} is not null
        {%- if snapshot and snapshot.is_first and not truncate_scope %}
        union all
        {{ trueup._ended_snapshot_select('log', order, snapshot.is_first) | indent(8) }}
        {%- endif %}
    )
    {%- if truncate_scope %}
    group by {{ trueup._column_list(truncate_scope) }}
    {%- endif %}

),
{%- endif %}

dated as ( -- beside each command, for each column, the newest command of the key that gives it

    select
        *
        {%- for _ in columns %},
        max(if(_log_gives_{{ loop.index }}, _log_order, null)) over (partition by {{ keys }}) as _given_{{ loop.index }}
        {%- endfor %}
    from commands

),

contents as (

    select
        {{ keys }},
        max(_log_order) as _newest,
        max(_log_order) filter (where _log_delete) as _deleted,
        max(_log_order) filter (where not _log_delete) as _upserted,
        {{ 'bool_or(_log_inherits)' if old_key and is_partial else 'false' }} as _inherits
        {%- for column in columns %}
        {%- set i, value = loop.index, trueup._quoted(column) %}
        {%- set here = 'filter (where _log_gives_' ~ i ~ ' and _log_order = _given_' ~ i ~ ')' %}
        {%- set text = 'to_json(struct(if(_log_error is null, ' ~ value ~ ', null), _log_error))' %},
        max(_given_{{ i }}) as _given_{{ i }},
        any_value({{ value }}) {{ here }} as _value_{{ i }},
        coalesce(count(_log_error) {{ here }} > 0, false) as _is_error_{{ i }},
        coalesce(min({{ text }}) {{ here }} <> max({{ text }}) {{ here }}, false) as _is_tie_{{ i }}
        {%- endfor %}
    from dated
    group by {{ keys }}

),

alive as ( -- a column that is older than a delete or a truncate does not count

    {%- set after_truncate = ' and coalesce({} >= _truncated, true)' if has_truncates else '' %}

    select
        contents.*,
        {%- for _ in columns %}
        {%- set given = '_given_' ~ loop.index %}
        coalesce({{ given }} > _deleted, {{ given }} is not null){{ after_truncate.format(given) }} as _is_alive_{{ loop.index }},
        {%- endfor %}
        coalesce(_upserted > _deleted, _upserted is not null){{ after_truncate.format('_upserted') }} as _is_row
    from contents
    {%- if truncate_scope and has_truncates %}
    left join truncates on
        {%- for name in truncate_scope %}
        {{ 'and ' if not loop.first }}contents.{{ trueup._quoted(name) }} = truncates.{{ trueup._quoted(name) }}
        {%- endfor %}
    {%- elif has_truncates %}
    cross join truncates
    {%- endif %}

),

expected as (

    select
        {{ keys }},
        {%- for column in columns %}
        if(_is_alive_{{ loop.index }}, _value_{{ loop.index }}, null) as {{ trueup._quoted(column) }},
        {%- endfor %}
        _is_row
        {%- for _ in columns %} and not (_is_alive_{{ loop.index }} and _is_error_{{ loop.index }}){% endfor %} as _is_row,
        _inherits or coalesce(_upserted = _deleted, false)
        {%- for _ in columns %}
            or coalesce(_given_{{ loop.index }} = _deleted, false) or _is_alive_{{ loop.index }} and _is_tie_{{ loop.index }}
        {%- endfor %} as _is_unknown,
        {{ seen | join(', ') }}
    from alive

),

sides as (

    select {{ keys }}, {{ trueup._column_list(columns) }}, if(_is_row, 'log', 'none') as _side, _is_unknown,
        {{ seen | join(', ') }}{% for name in held %}, null as {{ name }}{% endfor %}
    from expected

    union all

    select {{ keys }}, {{ trueup._one_form_list(columns, facts.texts) }}, 'table' as _side, false as _is_unknown,
        {% for name in seen + held %}null as {{ name }}{{ ', ' if not loop.last }}{% endfor %}
    from {{ model }}
    where {{ facts.in_sample }}

    union all

    select {{ keys }}, {% for name in columns %}null as {{ trueup._quoted(name) }}, {% endfor %}'none' as _side,
        {{ 'store._order._arrival is not null' if facts.has_arrivals else 'false' }} as _is_unknown, -- what has no order in the log
        {% for name in seen %}null as {{ name }}, {% endfor %}{% for order in store_orders %}{{ order }} as {{ held[loop.index0] }}{{ ', ' if not loop.last }}{% endfor %}
    from {{ facts.stored }} as store
    where store._kind in ('row', 'error', 'tombstone') and not store._error_kind <=> 'order' and {{ facts.in_sample_of_store }}

    union all

    select {{ keys }}, {% for name in columns %}null as {{ trueup._quoted(name) }}, {% endfor %}'error' as _side, true as _is_unknown,
        {% for name in seen + held %}null as {{ name }}{{ ', ' if not loop.last }}{% endfor %}
    from {{ facts.store }}
    where _kind = 'error' and not _error_kind <=> 'order' and {{ facts.in_sample }}

),

judged as (

    select
        {{ keys }},
        any_value(struct({{ trueup._column_list(columns) }})) filter (where _side = 'log') as _in_log,
        any_value(struct({{ trueup._column_list(columns) }})) filter (where _side = 'table') as _in_table,
        count_if(_side = 'table') as _rows,
        bool_or(_side <> 'none') as _counts,
        bool_or(_is_unknown)
        {%- for name in held %} -- what the store has read is newer than all that the log still has
            or max({{ name }}) is not null and not coalesce(max({{ name }}) <= max({{ seen[loop.index0] }}), false)
        {%- endfor %} as _is_left_out
    from sides
    group by {{ keys }}

),

told as ( -- up to two rows of each key that is wrong, and one for all keys

    select
        side,
        {{ keys }},
        any_value(if(side = 'only in the log', _in_log, _in_table)) as _found,
        count_if(_is_left_out) as _left_out,
        count(*) as _all
    from (
        select
            {%- for name in key %}
            if(side = 'left out', null, {{ trueup._quoted(name) }}) as {{ trueup._quoted(name) }},
            {%- endfor %}
            _in_log, _in_table, _is_left_out, side
        from judged
        lateral view explode(array('left out', 'only in the log', 'only in the table')) sides as side
        where case
            when side = 'left out' then _counts
            when _is_left_out or _in_log <=> _in_table and _rows <= 1 then false
            else if(side = 'only in the log', _in_log, _in_table) is not null
        end
    ) as found
    group by side, {{ keys }}

)

select
    if(side = 'left out', concat('left out: ', _left_out, ' of ', _all, ' keys'), side) as side,
    {{ keys }}
    {%- for column in columns %},
    if(side = 'left out', null, _found.{{ trueup._quoted(column) }}) as {{ trueup._quoted(column) }}
    {%- endfor %}
from told
where side <> 'left out' or {{ '_left_out > 0 and _left_out = _all' if max_left_out is none else '_left_out > _all * ' ~ max_left_out }}
{%- if facts.doubt %}

union all

select
    {{ trueup._literal(
        'the orders of the source may have begun again: batch ' ~ facts.doubt.seq ~ ' (raise order_epoch, or approve the orders)'
    ) }} as side,
    {% for name in key + columns %}null as {{ trueup._quoted(name) }}{{ ', ' if not loop.last }}{% endfor %}
{%- endif %}
{% endtest %}


{#-
    What the test `agrees_with_log` needs to know of a store, as a dict: the `store`, the `log` (rows of `table`) at the position of its newest
    batch, `upper`, the type of the key, and conditions for a sample of the keys. The sample is the same in each run, until
    the table has twice as many rows.
-#}
{% macro _get_facts_of_test(relation, table, log, key, sample, is_partial) -%}
    {#- As in a run: the decoder of messages needs more rounds of analysis than Spark allows. -#}
    {%- do run_query('set spark.sql.analyzer.maxIterations = 1000') if ' as _command' in log | string -%}
    {%- set collection = trueup._get_stored_collection(relation) -%}
    {%- set newest, position = collection.newest, collection.newest.get('position') or {} -%}
    {%- set is_same_log = position.get('log', table) | replace('`', '') | lower == table | string | replace('`', '') | lower -%}
    {%- set epoch = newest.epochs[-1].epoch if newest.get('epochs') else 0 -%}
    {%- set size = namespace(parts=1) -%}
    {%- set rows = (newest.get('statistics') or {}).get('records_indexed') or 0 -%}
    {%- for _ in range(62) if sample and rows | int > sample * size.parts -%}
        {%- set size.parts = size.parts * 2 -%}
    {%- endfor -%}
    {%- set types, conditions = [], {} -%}
    {%- for name in key -%}
        {%- set column = collection.columns | selectattr('name', 'eq', name) | first -%}
        {%- do types.append(trueup._quoted(name) ~ ': ' ~ trueup._sql_type(column.type)) -%}
    {%- endfor -%}
    {%- for name, alias in {'in_sample': none, 'in_sample_of_store': 'store'}.items() -%}
        {%- do conditions.update({
            name: 'true' if size.parts == 1
                else 'pmod(xxhash64(' ~ trueup._column_list(key, alias=alias) ~ '), ' ~ size.parts ~ ') = 0'
        }) -%}
    {%- endfor -%}
    {{ return(dict(
        conditions,
        store=collection.store,
        stored=trueup._stored_relation(dict(collection, is_partial=is_partial)),
        log=trueup._subquery(trueup._get_rows_read(trueup._log_with_epoch_select(log, none), newest).rows)
            if is_same_log and trueup._is_table_name(table) else trueup._log_with_epoch_select(log, epoch),
        upper=newest.get('upper'),
        texts=collection.texts,
        doubt=newest.get('doubt'),
        has_arrivals='_arrival:' in collection.order_type,
        key_type='struct<' ~ (types | join(', ')) ~ '>',
    )) }}
{%- endmacro %}


{#- The arguments of the macro of an envelope, as the test has them: each that is not given has its default. -#}
{% macro _given_messages(messages, log) -%}
    {%- set defaults = {
        'relation': log, 'value': 'data' if messages.macro == 'wal2json' else 'value', 'ts': none, 'sequence_by': none, 'reclock': none,
    } -%}
    {%- if messages.macro in ['debezium', 'cockroachdb'] -%}
        {%- do defaults.update({'key': 'key'}) -%}
    {%- endif -%}
    {%- if messages.macro == 'debezium' -%}
        {%- do defaults.update({'unchanged_value': '__debezium_unavailable_value'}) -%}
    {%- endif -%}
    {{ return(dict(defaults, **messages)) }}
{%- endmacro %}


{#- Columns in a form in which they can be compared: those of `texts`, types by name, are texts. -#}
{% macro _one_form_list(columns, texts) -%}
    {%- set items = [] -%}
    {%- for column in columns -%}
        {%- set name, type = trueup._quoted(column), texts.get(column | lower) -%}
        {%- do items.append(trueup._json_text_expr(name, type) ~ ' as ' ~ name if type else name) -%}
    {%- endfor -%}
    {{ return(items | join(', ')) }}
{%- endmacro %}


{#-
    The rows of a log with their epoch in `_log_epoch`, in parentheses. Without an `epoch` it is a query like that of a model, in
    which `_get_rows_read` writes the epoch of each part of the log.
-#}
{% macro _log_with_epoch_select(log, epoch) -%}
    {{ return(
        '(select *, ' ~ epoch ~ ' as _log_epoch from ' ~ log ~ ')' if epoch is not none
        else 'with log as (\n    select * from ' ~ trueup._marked_log(log) ~ '\n)\n\n' ~ trueup._log_boundary()
            ~ "\nselect *, named_struct('_epoch', 0, '_', 0)._epoch as _log_epoch from log"
    ) }}
{%- endmacro %}
