{#-
    The look: where the store stands, how far its log was read, and what is new. It reads metadata and the newest batch
    row. Only then it asks the new part of the log for a few numbers.
-#}

{#-
    Whether every commit to the store since the newest batch was computed is ours: that is one commit, the batch itself.
    Rewrites of files do not count. `properties` are those of the store.
-#}
{% macro _get_is_store_ours(store, properties, newest) -%}
    {%- if not newest.get('base') -%}
        {#- Batch row 0 is made with the table. -#}
        {{ return(true) }}
    {%- endif -%}
    {%- set now = trueup._get_snapshot(store, properties) -%}
    {%- set known = trueup._operations_on_path(newest.commits, newest.base, now, now) if newest.get('commits') else none -%}
    {%- set operations = trueup._get_commit_operations(store, properties, newest.base, now, newest.at) if known is none else known -%}
    {{ return(operations is not none and trueup._row_changes(operations) | length == 1) }}
{%- endmacro %}


{#-
    The part of the log that this run reads, as a dict:

    `rows`      a select of its commands
    `position`  the snapshot of the log at its end; none if the log has no snapshots
    `is_new`    whether it may hold a command that was not read
    `is_pinned` whether all statements of this run read the same rows
    `is_whole`  whether it is the whole log, and `reason`, why
    `is_cut`    whether this run has more to read after it, because of the option `max_commands`, and `until`, the snapshot of the
                log up to which this run reads.
-#}
{% macro _get_new_part(collection, query, newest, code, properties=none, until=none) -%}
    {%- set log = trueup._log_of_one_model(query) -%}
    {%- set properties = properties or trueup._get_properties(log) if log else {} -%}
    {%- set obstacle = trueup._appended_rows_obstacle(properties) if log else 'the SELECT reads no log that trueup knows' -%}
    {%- set snapshot = until or trueup._get_snapshot(log, properties) if log and not obstacle else none -%}
    {%- set epochs = trueup._epochs(collection, newest, snapshot) -%}
    {%- set is_raised = epochs != newest.get('epochs', []) -%}
    {%- set whole = {'rows': query, 'position': none, 'is_new': true, 'is_whole': true, 'epochs': epochs,
        'is_pinned': false, 'is_cut': false, 'reason': obstacle or 'the log has no snapshots'} -%}
    {%- if snapshot is none -%}
        {{ return(dict(whole, rows=trueup._rows_of_epoch(query, epochs[0].epoch if epochs else 0))) }}
    {%- endif -%}
    {%- set position = {'log': log, 'snapshot': snapshot, 'at': run_started_at.timestamp() | int} -%}
    {%- set last = newest.get('position') -%}
    {%- set whole = dict(whole, position=position, until=snapshot) -%}
    {%- set begin = epochs[-1].from if is_raised and last else last.snapshot or last.seen if last -%}
    {%- if not last or newest.code != code or newest.get('slices') -%}
        {%- set reason = 'nothing was read yet' if not last else 'the code of the model changed' if newest.code != code
            else 'the run before has read only some of the keys' -%}
    {%- elif begin == snapshot and not last.seen and not is_raised -%}
        {{ return({'rows': none, 'position': position, 'is_new': false, 'is_whole': false, 'epochs': epochs}) }}
    {%- else -%}
        {%- set operations = trueup._get_commit_operations(log, properties, begin, snapshot, last.at, last.seen) -%}
        {%- set reason = 'the log was made again or has forgotten snapshots' if operations is none
            else 'rows of the log were overwritten' if 'overwrite' in operations
            else 'new rows of the log were deleted' if trueup._has_deleted_new_rows(operations)
            else trueup._get_part_obstacle(log, properties, begin, snapshot, last.at, operations) -%}
    {%- endif -%}
    {%- set most = collection.options.max_commands if not (collection.has_ticks or is_raised or begin == snapshot) -%}
    {%- set end = snapshot if reason or not most else trueup._get_nearest_snapshot(log, properties, begin, snapshot, most) -%}
    {%- if reason -%}
        {%- set slice = trueup._get_slice(collection, newest, code, whole, properties) -%}
        {%- set pin = slice.snapshot if slice else snapshot -%}
        {%- set is_current = trueup._get_has_current_columns(log, trueup._rows_at(log, properties, pin)) -%}
        {%- set rows = trueup._get_rows_of_epochs(collection, log, properties, query, epochs, pin if is_current else none) -%}
        {%- set whole = dict(whole, reason=reason, is_pinned=is_current, rows=rows) -%}
        {{ return(trueup._slice_of_part(collection, whole, slice, last) if slice and is_current else whole) }}
    {%- endif -%}
    {%- set query = trueup._rows_of_epoch(query, epochs[-1].epoch if epochs else 0) -%}
    {%- if is_raised -%}
        {{ return({
            'rows': trueup._log_part_select(query, trueup._appended_rows(log, properties, begin, snapshot)) if begin != snapshot
                else 'select * from ' ~ trueup._subquery(query) ~ ' where false',
            'position': position, 'is_new': true, 'is_whole': false, 'is_pinned': true, 'epochs': epochs,
        }) }}
    {%- endif -%}
    {%- set parts = [] -%}
    {%- if last.seen -%}
        {#- An earlier batch has left commands of open ticks there. What is below its upper is settled. -#}
        {%- set seen = trueup._appended_rows(log, properties, last.snapshot, last.seen) if last.snapshot
            else trueup._rows_at(log, properties, last.seen) -%}
        {%- do parts.append('select * from ' ~ trueup._subquery(trueup._log_part_select(query, seen))
            ~ ' where _ts >= ' ~ trueup._bigint(newest.upper)) -%}
    {%- endif -%}
    {%- if (last.seen or last.snapshot) != end -%}
        {%- do parts.append(trueup._log_part_select(
            query, trueup._appended_rows(log, properties, last.seen or last.snapshot, end, is_second=parts != [])
        )) -%}
    {%- endif -%}
    {{ return({
        'rows': trueup._union_of(parts),
        'position': position if end == snapshot else dict(position, snapshot=end, at=last.at),
        'is_new': true, 'is_whole': false, 'is_pinned': true, 'is_cut': end != snapshot, 'until': snapshot, 'epochs': epochs,
    }) }}
{%- endmacro %}


{#-
    The epochs of the orders, as a list of `epoch` and `from`, the snapshot of the log after which it begins: none for the
    beginning of the log. The option `order_epoch` adds one. What a batch has read whose orders looked as if they had begun
    again belongs to the new one.
-#}
{% macro _epochs(collection, newest, snapshot) -%}
    {%- set epochs, epoch = newest.get('epochs', []), collection.options.order_epoch -%}
    {%- set last = epochs[-1].epoch if epochs else 0 -%}
    {%- set position = newest.get('position') -%}
    {%- if epoch < last or epoch > last and newest.seq > 0 and newest.code != 'adopted' and not (position and snapshot) -%}
        {%- do trueup._raise_option_error(
            'order_epoch', 'at least ' ~ last ~ ', the epoch of the newest orders' if epoch < last
            else 'left as it is, because the log has no snapshots. Make the epoch a column of the log, and the first of `sequence_by`',
            epoch
        ) -%}
    {%- elif epoch > last -%}
        {%- set from = (newest.get('doubt') or {}).get('from') or position.snapshot or position.seen if position else none -%}
        {%- if epochs | selectattr('from') | list | length == 2 -%}
            {%- do trueup._raise_option_error(
                'order_epoch', 'raised twice at most. Make the epoch a column of the log, and the first of `sequence_by`', epoch
            ) -%}
        {%- endif -%}
        {{ return(epochs + [{'epoch': epoch, 'from': from, 'at': position.at if position else 0}]) }}
    {%- endif -%}
    {{ return(epochs) }}
{%- endmacro %}


{#-
    All commands of a log, each with its epoch, as a select. Without a `snapshot` they are those that the log has when the
    statement runs: then it must have one epoch. Raises if the log no longer knows where an epoch began.
-#}
{% macro _get_rows_of_epochs(collection, log, properties, query, epochs, snapshot) -%}
    {%- set cuts = epochs | selectattr('from') | map(attribute='from') | list -%}
    {%- if cuts and (snapshot is none
            or trueup._get_commit_operations(log, properties, cuts[0], snapshot, epochs[-1].at) is none) -%}
        {%- do trueup._raise_error(
            'The log of ' ~ collection.name, 'one that still has the snapshot after which `order_epoch` was raised', 'a log without it',
            'Nothing is written. trueup cannot know which commands are of which epoch. To begin again from the log, without'
            ~ ' the history: dbt run --full-refresh -s ' ~ collection.name ~ " --vars '{trueup_rebase: true}'."
        ) -%}
    {%- endif -%}
    {{ return(trueup._epochs_select(log, properties, query, epochs, snapshot)) }}
{%- endmacro %}


{#- The commands of a log up to a snapshot, each with its epoch: those before the first cut, and those that came after each cut. -#}
{% macro _epochs_select(log, properties, query, epochs, snapshot) -%}
    {%- set cuts = epochs | selectattr('from') | map(attribute='from') | list -%}
    {%- set begin = cuts[0] if cuts else snapshot -%}
    {%- set selects = [trueup._rows_of_epoch(
        trueup._log_part_select(query, trueup._rows_at(log, properties, begin)) if begin else query,
        epochs[0].epoch if epochs and epochs[0].from is none else 0
    )] -%}
    {%- for cut in cuts -%}
        {%- set end = cuts[loop.index] if not loop.last else snapshot -%}
        {%- if cut != end -%}
            {%- do selects.append(trueup._rows_of_epoch(
                trueup._log_part_select(query, trueup._appended_rows(log, properties, cut, end, is_second=not loop.first)),
                (epochs | selectattr('from', 'eq', cut) | list | last).epoch
            )) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(trueup._union_of(selects)) }}
{%- endmacro %}


{#- The rows of several selects as one. -#}
{% macro _union_of(selects) -%}
    {%- set parts = [] -%}
    {%- for select in selects -%}
        {%- do parts.append('select * from ' ~ trueup._subquery(select)) -%}
    {%- endfor -%}
    {{ return(selects[0] if selects | length == 1 else parts | join('\nunion all\n')) }}
{%- endmacro %}


{#- The commands of a select with their epoch as the first part of the order. -#}
{% macro _rows_of_epoch(query, epoch) -%}
    {{ return(query | replace("'_epoch', 0,", "'_epoch', " ~ epoch ~ ',')) }}
{%- endmacro %}


{#-
    The log in the SQL of a model: the name of its table. None if the model does more than to call a macro of trueup, for
    example a join. Then its commands depend on other rows, too, and each run reads all of them.
-#}
{% macro _log_of_one_model(query) -%}
    {%- set starts = modules.re.match('(?s)' ~ trueup._space_pattern() ~ 'with log as \\(', query) -%}
    {%- set rest = trueup._without_texts(query).rpartition(trueup._log_boundary())[2] -%}
    {%- set depends = modules.re.search('(?i)\\b(join|group\\s+by|having|distinct|limit|union|intersect|minus)\\b', rest) -%}
    {{ return(trueup._log_of_view(query) if starts and not depends else none) }}
{%- endmacro %}


{#- Whether rows may have been deleted that were appended before. `operations` begin with the newest. -#}
{% macro _has_deleted_new_rows(operations) -%}
    {{ return('delete' in operations and 'append' in operations[operations.index('delete'):]) }}
{%- endmacro %}


{#-
    A few numbers about the commands of a part, as a dict: `commands`, `truncates`, `unordered`, `greatest_order`, that of all
    batches and this part, `below`, how many commands are below that of the batches before, and `filter`, the bits of
    their keys; with more than 10,000 commands see `_get_filter`. If the part is not pinned to a snapshot, also `log_sum`, a checksum: a run that
    finds the same one again has nothing to do. In a log with ticks also `least` and `greatest`, its ticks, and `late`, how many
    commands are below `lower`. With `null_order: arrival` also `again`, how many commands without an order were read before.
    If the commands say where they lie in the log, also `places`, what is read after them, and `replayed`, how many commands with an
    order are at places that were read before.
    If the commands say which are the first of a snapshot, also `snapshots` and `ended`: see `_snapshot_facts_items`.
    If a command may change a key, also `moves`, how many do, `lacking`, how many of them leave columns unchanged, and `cut`, the
    order at which the batch must end before one of them.
-#}
{% macro _get_facts(collection, part, newest) -%}
    {%- set facts = run_query(trueup._step_marker('check') ~ trueup._facts_select(collection, part, newest)).rows[0].dict() -%}
    {%- if collection.has_place -%}
        {%- do facts.update({'places': trueup._places_after(newest.get('places'), fromjson(facts.places))}) -%}
    {%- endif -%}
    {%- if facts.get('lacking') and facts.moves > 1 -%}
        {%- set cut = run_query(trueup._step_marker('check') ~ trueup._chain_select(collection, part.rows)).rows[0][0] -%}
        {{ return(dict(facts, cut=cut)) }}
    {%- endif -%}
    {{ return(facts) }}
{%- endmacro %}


{#- The select behind `_get_facts`. For a SELECT of rows `commands` is the number of keys that change. -#}
{% macro _facts_select(collection, part, newest) -%}
    {%- set lower = newest.get('upper', 0) -%}
    {%- set arrives = collection.options.null_order == 'arrival' -%}
    {%- set greatest = trueup._order_from_json_expr(collection, newest.get('greatest')) if collection.is_log -%}
    {%- if not collection.is_log -%}
with

{{ trueup._desired_ctes(collection, part.rows) }},

held as (

    select {{ trueup._column_list(collection.key) }}, _error_key, _digest as _held
    from {{ trueup._stored_relation(collection) }}
    where _kind in ({{ trueup._current_kinds() }})

)

select count_if(not _new._digest <=> _held) as commands, 0 as truncates, 0 as unordered, count(_commands) as desired
from newest
full outer join held on {{ trueup._same_key_expr(collection.key + ['_error_key'], 'newest', 'held') }}
    {%- else -%}
with

formed as (

    select
        {%- for column in collection.columns if column.name in collection.key %}
        if(_error_key is null, {{ trueup._given_value_expr(collection, column) }}, null) as {{ trueup._quoted(column.name) }},
        {%- endfor %}
        _error_key,
        _order,
        _op
        {%- if collection.has_ticks %},
        _ts
        {%- endif %}
        {%- if collection.has_old_key %},
        {{ trueup._old_key_expr(collection) }} as _old_key
        {%- if collection.is_partial %},
        {{ trueup._unchanged_names_expr(collection) }} as _unchanged
        {%- endif %}
        {%- endif %}
        {%- if collection.has_place %},
        cast(_place as {{ trueup._place_type() }}) as _place
        {%- endif %}
        {%- if collection.has_snapshots %},
        _is_first
        {%- endif %}
        {%- if not part.is_pinned %},
        {{ trueup._command_hash_expr(collection) }} as _hash
        {%- endif %}
    from {{ trueup._subquery(part.rows) }}

),

counted as ( -- for each partition of the log, if the commands say where they lie in it

    select
        {%- if collection.has_place %}
        _place.topic,
        _place.partition,
        max(_place.offset) + 1 as next,
        count_if(_op <> 'truncate' and not {{ trueup._lacks_order_expr() }} and {{ trueup._was_read_expr('_place', '_known') }}) as replayed,
        {%- endif %}
        count(*) as commands,
        count_if(_op = 'truncate') as truncates,
        count_if(_op = 'truncate' and (
            {{ trueup._lacks_order_expr() }} or {{ trueup._is_ahead_expr(collection) }}
            {%- for name in collection.options.truncate_scope %} or {{ trueup._quoted(name) }} is null{% endfor %}
        )) as bad_truncates,
        count_if(_op <> 'truncate' and {{ trueup._lacks_order_expr() }}{{ ' and not ' ~ trueup._was_read_expr('_place', '_known') if arrives }})
            as unordered,
        {%- if arrives %}
        count_if(_op <> 'truncate' and {{ trueup._lacks_order_expr() }} and {{ trueup._was_read_expr('_place', '_known') }}) as again,
        {%- endif %}
        bitmap_construct_agg(pmod({{ trueup._identity_hash_expr(collection) }}, 32768)) as filter,
        max(_order) as greatest_order,
        count_if(_order < {{ greatest }}{{ ' and not ' ~ trueup._lacks_order_expr() if arrives }}) as below
        {%- if not part.is_pinned %},
        sum(cast(_hash as decimal(38, 0))) as hash_sum,
        bit_xor(_hash) as hash_xor
        {%- endif %}
        {%- if collection.has_ticks %},
        min(_ts) as least,
        max(_ts) as greatest,
        count_if(_ts < {{ trueup._bigint(lower) }}) as late
        {%- endif %}
        {%- if collection.has_old_key %},
        count(_old_key) as moves,
        {{ 'count_if(_old_key is not null and size(_unchanged) > 0)' if collection.is_partial else 0 }} as lacking
        {%- endif %}
        {%- if collection.has_snapshots %},
        {{ trueup._snapshot_items('_order', '_is_first') }},
        max(_order) filter (where _op = 'truncate') as truncated
        {%- endif %}
    from formed
    {%- if collection.has_place %}
    -- A struct, because a column of the key may be called `topic`.
    left join (select struct(*) as _known from {{ trueup._known_places(newest.get('places')) }})
        on {{ trueup._same_partition_expr('_known', '_place') }}
    group by _place.topic, _place.partition
    {%- endif %}

)

{{ trueup._snapshot_facts_items(collection, newest) ~ '\nfrom (\n' if collection.has_snapshots -}}
select
    {%- set sums = ['commands', 'truncates', 'bad_truncates', 'unordered', 'below']
        + (['again'] if arrives else []) + (['moves', 'lacking'] if collection.has_old_key else [])
        + (['replayed'] if collection.has_place else []) + (['late'] if collection.has_ticks else []) %}
    {%- for name in sums %}
    coalesce(sum({{ name }}), 0) as {{ name }},
    {%- endfor %}
    {%- if collection.has_place %}
    to_json(array_sort(collect_list(struct(topic, partition, next)) filter (where next is not null))) as places,
    {%- endif %}
    translate(hex(bitmap_or_agg(filter)), 'ABCDEF', ':;<=>?') as filter,
    {{ trueup._exact_json_expr('greatest(max(greatest_order), any_value(' ~ greatest ~ '))') }} as greatest_order
    {%- if not part.is_pinned %},
    concat_ws('-', coalesce(sum(commands), 0), sum(hash_sum), bit_xor(hash_xor)) as log_sum
    {%- endif %}
    {%- if collection.has_ticks %},
    min(least) as least,
    max(greatest) as greatest
    {%- if 'log_upper' in (collection.options.input_upper or '') %},
    (
        select {{ trueup._tick_expr(collection.options.input_upper, 'Option `input_upper` of ' ~ collection.name) }}
        from (select coalesce(max(_ts) + 1, {{ trueup._bigint(lower) }}) as log_upper from formed)
    ) as input_upper
    {%- endif %}
    {%- if part.is_pinned and collection.options.max_commands is not none and not collection.has_old_key %},
    {{ trueup._cut_tick_expr(collection, trueup._bigint(lower)) }} as cut_tick
    {%- endif %}
    {%- endif %}
    {%- if collection.has_snapshots %},
    flatten(collect_list(_first_orders)) as _first_orders,
    flatten(collect_list(_next_orders)) as _next_orders,
    max(_last_change) as _last_change,
    max(truncated) as truncated
    {%- endif %}
from counted
    {{- ') as facts' if collection.has_snapshots }}
    {%- endif %}
{%- endmacro %}


{#-
    What the commands say of snapshots, as items of a select. All rows of a snapshot have one order. The items are the orders of the
    first rows, the orders of the other rows, and the greatest order of a change.

    Debezium marks the last row of each table. But the first row of all tables is marked as the first one instead, so a snapshot
    with one row may have no end. Then a change with a greater order is its end: the changes come after the snapshot.
-#}
{% macro _snapshot_items(order, is_first) -%}
collect_set({{ order }}) filter (where {{ is_first }}) as _first_orders,
        collect_set({{ order }}) filter (where not {{ is_first }}) as _next_orders,
        max({{ order }}) filter (where {{ is_first }} is null) as _last_change
{%- endmacro %}


{#- The order of the newest snapshot that is complete, although no row says so, as a select of one row: `_first_order`, null for none. -#}
{% macro _ended_snapshot_select(rows, order, is_first) -%}
select array_max(filter(array_except(_first_orders, _next_orders), _one -> _one < _last_change)) as _first_order
from (
    select
        {{ trueup._snapshot_items(order, is_first) }}
    from {{ rows }}
) as snapshots
{%- endmacro %}


{#-
    The select items of the facts of a log with snapshots. `snapshots` is what all batches have read of those that are newer than the
    newest truncate, as a text for the next batch. `ended` is the order of the newest one that is complete, although no row says so.
-#}
{% macro _snapshot_facts_items(collection, newest) -%}
    {%- set type = trueup._sql_type(collection.order_type) -%}
    {%- set known = trueup._parsed_expr(trueup._literal_or_null(newest.get('snapshots')),
        'struct<firsts: array<' ~ type ~ '>, others: array<' ~ type ~ '>, change: ' ~ type ~ '>') -%}
    {%- set truncated = trueup._order_from_json_expr(collection, newest.get('truncated')) -%}
    {%- set orders = {} -%}
    {%- for name, given in {'firsts': '_first_orders', 'others': '_next_orders'}.items() -%}
        {%- do orders.update({name: 'filter(array_union(cast(' ~ given ~ ' as array<' ~ type ~ '>), coalesce(' ~ known ~ '.' ~ name
            ~ ', array())), _one -> coalesce(_one > greatest(truncated, ' ~ truncated ~ '), true))'}) -%}
    {%- endfor -%}
    {%- set change = 'greatest(_last_change, ' ~ known ~ '.change)' -%}
select
    * except (_first_orders, _next_orders, _last_change, truncated),
    {{ trueup._exact_json_expr("struct(" ~ orders.firsts ~ ' as firsts, ' ~ orders.others ~ ' as others, ' ~ change ~ ' as change)') }} as snapshots,
    {{ trueup._exact_json_expr('array_max(filter(array_except(' ~ orders.firsts ~ ', ' ~ orders.others ~ '), _one -> _one < ' ~ change ~ '))') }} as ended
{%- endmacro %}


{#-
    The bits of the keys of a part with many commands, as a text: four bits a character. There are four to eight bits for each
    command, and a million at most.
-#}
{% macro _get_filter(collection, part, commands) -%}
    {%- set size = namespace(parts=1) -%}
    {%- for _ in range(5) if size.parts * 32768 < commands * 4 -%}
        {%- set size.parts = size.parts * 2 -%}
    {%- endfor -%}
    {%- set query -%}
{{ trueup._step_marker('check') }}
select
    bit div 32768 as part,
    translate(hex(bitmap_construct_agg(bit % 32768)), 'ABCDEF', ':;<=>?') as bits
from (
    select pmod({{ trueup._identity_hash_expr(collection) }}, {{ size.parts * 32768 }}) as bit
    from (
        select
            {%- for column in collection.columns if column.name in collection.key %}
            if(_error_key is null, {{ trueup._given_value_expr(collection, column) }}, null) as {{ trueup._quoted(column.name) }},
            {%- endfor %}
            _error_key
        from {{ trueup._subquery(part.rows) }}
    ) as identities
) as bits
group by 1
    {%- endset -%}
    {%- set found, texts = {}, [] -%}
    {%- for row in run_query(query).rows -%}
        {%- do found.update({row[0] | int: row[1]}) -%}
    {%- endfor -%}
    {%- for i in range(size.parts) -%}
        {%- do texts.append(found.get(i, '0' * 8192)) -%}
    {%- endfor -%}
    {{ return(texts | join) }}
{%- endmacro %}


{#- Whether an order is a time more than a day ahead of the clock. Numbers have no known unit, so they are not judged. -#}
{% macro _is_ahead_expr(collection, order='_order') -%}
    {{ return(order ~ '._1 > current_timestamp() + interval 1 day' if trueup._has_times_as_order(collection) else 'false') }}
{%- endmacro %}


{#- Whether the orders of a log begin with a time. -#}
{% macro _has_times_as_order(collection) -%}
    {%- set type = trueup._parsed_type(collection.order_type).fields[1].type.name -%}
    {{ return(collection.is_log and type in ['timestamp', 'timestamp_ntz', 'date']) }}
{%- endmacro %}


{#-
    Whether the orders of the source may have begun again: more than half of the keys in a new part of the log have a newest
    command that is older than their row and says what nobody has seen before. (A replay says what was seen. The history does not
    know a command that a newer one of its batch has replaced, so the log that was read is asked, too.) Returns none, or a
    dict of `stale`, how many there are, and `of`, how many keys the part has.
-#}
{% macro _get_doubt(collection, query, plan, facts, newest) -%}
    {%- if not collection.is_log or plan.notes.position is none or plan.reads_again or facts.below < 2
            or facts.below * 2 <= facts.commands -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set found = run_query(trueup._step_marker('check') ~ trueup._unseen_keys_select(collection, plan)).rows[0].dict() -%}
    {%- if plan.until and found.stale >= 2 and found.stale * 2 > found.of -%}
        {#- Only the commands that the log does not have once more, at whatever place. This reads the whole log. -#}
        {%- set log = plan.notes.position.log -%}
        {%- set all = trueup._rows_of_epoch(
            trueup._log_part_select(query, trueup._rows_at(log, trueup._get_properties(log), plan.until)),
            (newest.get('epochs') or [{'epoch': 0}])[-1].epoch
        ) -%}
        {%- set said = trueup._command_hash_expr(collection, has_place=false) -%}
        {%- set unread -%}
select part.* except (_hash)
from (select *, {{ said }} as _hash from {{ trueup._subquery(plan.rows) }}) as part
left anti join (
    select _hash
    from (
        select {{ said }} as _hash, 1 as copies from {{ trueup._subquery(all) }}
        union all
        select {{ said }} as _hash, -1 as copies from {{ trueup._subquery(plan.rows) }}
    )
    group by _hash
    having sum(copies) > 0
) as again on part._hash = again._hash
        {%- endset -%}
        {%- set rest = run_query(
            trueup._step_marker('check') ~ trueup._unseen_keys_select(collection, dict(plan, rows=unread))
        ).rows[0].dict() -%}
        {%- set found = dict(found, stale=rest.stale) -%}
    {%- endif -%}
    {{ return(found if found.stale >= 2 and found.stale * 2 > found.of) }}
{%- endmacro %}


{#- The select behind `_get_doubt`. -#}
{% macro _unseen_keys_select(collection, plan) -%}
    {%- set names = collection.key + ['_error_key'] -%}
    {%- set order = '_top' if collection.is_partial else '_new._order' -%}
    {%- set is_upsert = '_upserted_now = _top' if collection.is_partial else '_new._digest is not null' -%}
with

{{ trueup._commands_ctes(collection, plan) }},

{{ trueup._newest_command_ctes(collection, plan) }},

old as ( -- keys that get an older upsert

    select newest.*
    from newest
    inner join {{ trueup._stored_relation(collection) }} as held
        on {{ trueup._same_key_expr(names, 'held', 'newest') }} and newest.{{ order }} < held._order
        {%- if collection.options.ties == 'place' %}
        and not {{ trueup._is_same_order_expr(collection, 'newest._new._order', 'held._order') }}
        {%- endif %}
    where held._kind in ({{ trueup._current_kinds() }}) and not held._error_kind <=> 'order' and {{ is_upsert }}

),

unseen as (

    select old.*
    from old
    left anti join {{ trueup._stored_relation(collection) }} as seen
        on {{ trueup._same_key_expr(names, 'seen', 'old') }}
        and seen._kind = 'update'
        and {{ 'seen._order = old._top' if collection.is_partial else 'seen._digest = old._new._digest' }}

)

select
    (select count(*) from (select distinct {{ trueup._column_list(names) }} from unseen)) as stale,
    (select count(*) from (select distinct {{ trueup._column_list(names) }} from newest)) as of
{%- endmacro %}


{#-
    The ticks of the next batch, as a dict; none for a log without ticks. It settles the ticks from `lower` up to, but not
    including, `upper`. `has_open` says whether commands wait for a later batch, and `is_cut`, whether for one of this run.
-#}
{% macro _ticks_of_batch(collection, newest, part, facts, input_upper) -%}
    {%- if not collection.has_ticks -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set options = collection.options -%}
    {%- if facts.greatest == trueup._greatest_bigint() -%}
        {%- do trueup._raise_error(
            'The tick of a command of ' ~ collection.name, 'below 2^63-1, because a batch ends after its last tick',
            facts.greatest, 'Nothing is written. Correct the argument `ts` of `trueup.commands`.'
        ) -%}
    {%- endif -%}
    {%- set least = 0 if facts.least is none else [0, facts.least] | min -%}
    {%- set lower = newest.get('upper') if newest.get('upper') is not none else least if options.as_of is none else options.as_of -%}
    {%- set end = facts.greatest + 1 if facts.greatest is not none else lower -%}
    {%- if options.input_upper is not none -%}
        {%- set end = facts.get('input_upper', input_upper) -%}
        {%- set end = lower if end is none else end -%}
    {%- endif -%}
    {%- set until = trueup._var('trueup_until') -%}
    {%- set end = end if until is none else [end, until] | min -%}
    {%- set cut = facts.get('cut_tick') -%}
    {%- set is_cut = cut is not none and cut + 1 < end -%}
    {%- set upper = [lower, cut + 1 if is_cut else end] | max -%}
    {%- set knows_late = not part.is_whole and newest.get('upper') is not none -%}
    {%- set drops = options.late == 'drop' and newest.get('upper') is not none -%}
    {{ return({
        'lower': trueup._bigint(lower), 'upper': trueup._bigint(upper), 'lower_number': lower, 'upper_number': upper,
        'has_open': facts.greatest is not none and facts.greatest >= upper,
        'is_cut': is_cut,
        'knows_late': knows_late,
        'has_lower': newest.get('upper') is not none,
        'drops_part': drops and not part.is_whole,
        'drops_again': drops and part.is_whole,
        'dropped': facts.late if drops and not part.is_whole else 0,
        'is_idle': upper == lower and part.is_pinned and not part.is_whole and not facts.late and not facts.unordered,
    }) }}
{%- endmacro %}


{#- The rows of a part of the log that a batch settles, as a select. -#}
{% macro _rows_of_ticks_select(rows, ticks) -%}
select * from {{ trueup._subquery(rows) }}
where coalesce(_ts < {{ ticks.upper }}{{ ' and _ts >= ' ~ ticks.lower if ticks.drops_part }}, true)
{%- endmacro %}


{#-
    How far the log was read, for the batch row. `snapshot` is the end of what is settled. If commands of open ticks wait
    after it, `seen` is the end of what was looked at.
-#}
{% macro _position_of_ticks(position, ticks, last) -%}
    {%- if not position or not ticks.has_open -%}
        {{ return(position) }}
    {%- endif -%}
    {{ return(dict(
        position, snapshot=last.snapshot if last else none, seen=position.snapshot, at=last.at if last else position.at
    )) }}
{%- endmacro %}


{#-
    Whether the rows of a log at a snapshot have the columns that the log has now. A snapshot keeps the columns
    of its time. The next append makes a snapshot with the new columns.
-#}
{% macro _get_has_current_columns(log, at_snapshot) -%}
    {{ return(
        trueup._get_columns('select * from ' ~ at_snapshot)
        == trueup._get_columns('select * from ' ~ log)
    ) }}
{%- endmacro %}


{#- The hash of a command: of all that it says, and of its place. -#}
{% macro _command_hash_expr(collection, has_place=true) -%}
    {%- set columns = [
        {'name': '_order', 'type': collection.order_type}, {'name': '_op', 'type': 'string'}, {'name': '_error', 'type': 'string'},
        {'name': '_error_key', 'type': 'string'},
    ] -%}
    {%- set texts = [] -%}
    {%- for column in collection.columns if column.name | lower in collection.given_types -%}
        {%- if column.name | lower in collection.texts -%}
            {%- do texts.append('to_json(struct(' ~ trueup._given_value_expr(collection, column) ~ '))') -%}
        {%- else -%}
            {%- do columns.append({'name': column.name, 'type': collection.given_types[column.name | lower]}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if collection.is_partial -%}
        {%- do columns.append({'name': '_unchanged', 'type': 'array<string>'}) -%}
    {%- endif -%}
    {%- if collection.has_place and has_place -%}
        {%- do columns.append({'name': '_place', 'type': trueup._place_type()}) -%}
    {%- endif -%}
xxhash64({{ (trueup._hash_terms(columns, '').hashed + texts) | join(', ') }}
    {{- ", to_json(struct(_old_key))" if collection.has_old_key }})
{%- endmacro %}


{#- Those of `operations` that may change rows. -#}
{% macro _row_changes(operations) -%}
    {{ return(operations | reject('in', ['replace', 'vacuum', 'feed', 'other', 'expired']) | list) }}
{%- endmacro %}
