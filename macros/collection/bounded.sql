{#-
    Bounded work: with the option `max_commands` a run makes several batches, and each reads only a part of what is new. Without
    ticks the rows do not depend on the cut. There are three cuts:

    - by snapshots of the log, if the run reads what was appended since the last batch: see `_get_nearest_snapshot`;
    - by slices of keys, if it reads the whole log: see `_get_slice`;
    - by ticks, in a log with ticks: see `_ticks_of_batch`.

    Each batch row says how far the log was read, so the next batch looks again and goes on. It does not matter whether the same
    run makes it, or the one after a kill.
-#}

{#-
    The next slice of a log that is read as a whole, as a dict; none if one batch reads all of it. A command that changes its key
    concerns two keys, so a log with such commands has no slices. With `null_order: arrival` the places on the batch row must be
    those of all keys, so there are none either. The dict is what the batch row has as `slices`:

    `snapshot`  the snapshot of the log that all slices read, and `at`, a time before the commits after it
    `n`         the number of slices
    `done`      how many of them were read.

    A run goes on with the slices of the batch before, unless the code has changed or the log has forgotten the snapshot. Then
    it begins again with the first slice. This is safe, because a command that is read twice has no effect.
-#}
{% macro _get_slice(collection, newest, code, whole, properties) -%}
    {%- if collection.options.max_commands is none or collection.has_ticks or collection.has_old_key
            or collection.options.null_order == 'arrival' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set before, log, snapshot = newest.get('slices'), whole.position.log, whole.position.snapshot -%}
    {%- if before and newest.code == code and newest.get('epochs', []) == whole.epochs -%}
        {%- set pin = before.snapshot -%}
        {%- set operations = trueup._get_commit_operations(log, properties, pin, snapshot, before.at) -%}
        {%- if operations is not none
                and trueup._get_part_obstacle(log, properties, pin, snapshot, before.at, operations) is none
                and trueup._get_commit_sizes(log, properties, pin, snapshot) | selectattr('id', 'eq', pin) | list -%}
            {{ return(before) }}
        {%- endif -%}
    {%- endif -%}
    {%- set rows = run_query(
        trueup._step_marker('check') ~ 'select count(*) from ' ~ trueup._rows_at(log, properties, snapshot)
    ).rows[0][0] -%}
    {%- set n = (rows / collection.options.max_commands) | round(0, 'ceil') | int -%}
    {{ return({'snapshot': snapshot, 'at': whole.position.at, 'n': n, 'done': 0} if n > 1 else none) }}
{%- endmacro %}


{#-
    The part of the log that is one slice: see `_get_new_part`. Only the last slice says that the log was read. `slices` are those
    of the batch row, and `is_cut` says whether more is to read.
-#}
{% macro _slice_of_part(collection, whole, slice, last) -%}
    {%- set is_last = slice.done + 1 == slice.n -%}
    {{ return(dict(
        whole,
        rows=trueup._rows_of_slice_select(collection, whole.rows, slice),
        position=dict(whole.position, snapshot=slice.snapshot, at=slice.at) if is_last else last,
        slices=none if is_last else dict(slice, done=slice.done + 1),
        is_cut=not is_last or slice.snapshot != whole.position.snapshot
    )) }}
{%- endmacro %}


{#- The commands of a slice of keys. The first slice has all truncates: their bound then stands on the batch row for the others. -#}
{% macro _rows_of_slice_select(collection, rows, slice) -%}
    {%- set terms = [] -%}
    {%- for column in collection.columns if column.name in collection.key -%}
        {%- do terms.append('if(_error_key is null, ' ~ trueup._given_value_expr(collection, column) ~ ', null)') -%}
    {%- endfor -%}
select * from {{ trueup._subquery(rows) }}
where if(
    _op = 'truncate', {{ 'true' if slice.done == 0 else 'false' }},
    pmod(xxhash64({{ terms | join(', ') }}, _error_key), {{ slice.n }}) = {{ slice.done }}
)
{%- endmacro %}


{#-
    The tick at which a batch ends, as an SQL expression of the look: the least one up to which `formed` has `max_commands` commands
    that are not late. Null if it has fewer.
-#}
{% macro _cut_tick_expr(collection, lower) -%}
(
        select min(_ts)
        from (
            select _ts, sum(count(*)) over (order by _ts) as running
            from formed
            where _ts >= {{ lower }}
            group by _ts
        )
        where running >= {{ collection.options.max_commands }}
    )
{%- endmacro %}


{#-
    What earlier batches of this run count for the option `max_retractions`, as a dict: the `retractions` so far, and how many
    `records` there were before. None if this is the first batch that counts. A batch that a person has approved does not count.
-#}
{% macro _earlier_batches(batches) -%}
    {%- set counted = batches[1:] if trueup._var('trueup_approve') not in [none, 'orders'] else batches -%}
    {%- if not counted -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set first = counted[0].statistics -%}
    {{ return({
        'retractions': counted | map(attribute='statistics.retractions') | sum,
        'records': first.records_indexed - first.inserts + first.deletes - first.error_inserts + first.error_retractions,
    }) }}
{%- endmacro %}
