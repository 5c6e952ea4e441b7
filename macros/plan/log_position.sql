{#-
    How far a batch has read the log, so that the next one reads only what came after it. There are two kinds
    of positions. In an Iceberg or Delta table each append makes a snapshot, and Spark can read what was
    appended between two of them. Any other log needs the argument `arrived`, a value that never goes down as
    rows arrive.

    The progress row of a batch keeps two positions in `position`. Each has a `snapshot` of the log or a value
    of `arrived`, the number of `commands` before it, and `at`, when it was read:

    `settled`  every command before it is settled or late; null if no such position is known
    `read`     how far the batch has read. `upper` is the tick after the last one of its commands. When the
               frontier reaches it, `read` becomes `settled`.
    `code`     a hash of the query that makes the commands; see `_code_of_commands`

    A position is trusted only if rows were appended since then, and nothing else. A `partial` log may also
    lose rows. Otherwise the run reads the whole log, and says why.
-#}

{#-
    A hash of the query of the commands and of the type of `arrived`. With `late: correct` also of their
    columns and of the options that say which commands count: others give other rows, also for settled ticks.
    If somebody sets or drops `late: newest`, the hash changes, and the next batch looks for the last command of
    each key in the whole log.
-#}
{% macro _code_of_commands(collection, query) -%}
    {%- set options = collection.options -%}
    {%- set is_newest = options.late == 'newest' -%}
    {%- set terms = [query, collection.arrived_type, is_newest] -%}
    {%- if options.late == 'correct' -%}
        {%- do terms.extend([options.as_of, options.log]) -%}
        {%- for column in collection.command_columns -%}
            {%- do terms.append(column.name ~ ' ' ~ column.type) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(local_md5(tojson(terms))) }}
{%- endmacro %}


{#-
    Why a run cannot trust the positions of the last batch, in a few words; none if it can. The operations are
    counted from the first position. The log must also come from the other one, `read`, which becomes `settled`
    later: it may have been rolled back to the first one.
-#}
{% macro _get_distrust_reason(options, log, properties, part, snapshot) -%}
    {%- set first = part.settled or part.read -%}
    {%- if not first -%}
        {{ return(none) }}
    {%- elif not first.get('snapshot') or not part.read.get('snapshot') -%}
        {{ return('argument `arrived` is gone') }}
    {%- endif -%}
    {%- set operations = trueup._get_commit_operations(
        log, properties, first.snapshot, snapshot, first.at, through=part.read.snapshot
    ) -%}
    {%- if operations is none -%}
        {{ return(
            'the log no longer has the snapshot '
            ~ ([first.snapshot, part.read.snapshot] | unique | join(' or ')) ~ ' in its history'
        ) }}
    {%- elif 'overwrite' in operations -%}
        {{ return('rows of the log were overwritten') }}
    {%- elif 'delete' in operations and not trueup._may_lose_rows(options) -%}
        {{ return('rows of the log were deleted') }}
    {%- endif -%}
    {{ return(trueup._get_part_obstacle(
        log, properties, first.snapshot, snapshot, first.at, operations
    )) }}
{%- endmacro %}


{#-
    Whether deletions from the log are trusted. A run still reads the rows that were deleted since the last
    batch. With an option `fail` a user deletes a refused command and expects that it is gone.
-#}
{% macro _may_lose_rows(options) -%}
    {{ return(
        options.log == 'partial' and 'fail' not in [options.late, options.errors, options.ties]
    ) }}
{%- endmacro %}


{#-
    The positions for the progress row of a batch, as a dict; none if the log has none. `part` is the part of
    the log that this run reads.
-#}
{% macro _next_log_position(part, plan) -%}
    {%- set place = {'snapshot': part.snapshot, 'commands': part.commands_before + plan.commands_read} -%}
    {%- if part.arrived_type and plan.last_arrived is not none -%}
        {#- More commands may arrive with the last value. -#}
        {%- set place = {
            'arrived': plan.last_arrived, 'commands': place.commands - plan.commands_arrived_last
        } -%}
    {%- elif part.snapshot is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set read = part.read -%}
    {%- set after_read = plan.get('commands_after_read', part.get('commands_after_read')) -%}
    {%- if after_read is not none -%}
        {#- Later counts do not include the rows that the log has lost, so the position must not either. -#}
        {%- set read = dict(read, commands=plan.commands_read - after_read) -%}
    {%- endif -%}
    {%- set is_read_settled = read is not none and read.upper <= plan.upper -%}
    {{ return({
        'settled': read if is_read_settled else part.settled,
        'read': dict(place, at=run_started_at.timestamp() | int),
        'code': part.code,
        'upper': plan.lower if plan.log_upper is none else [plan.log_upper, plan.lower] | max,
    }) }}
{%- endmacro %}
