{#-
    The part of the log that this run reads. A dict:

    - `commands`: the relation with its commands
    - `commands_before`: the number of commands before this part; all are settled
    - `settled`, `read`: the positions of the last batch that are still true, or none
    - `code`: a hash of the query of the commands; see `_code_of_commands`
    - `snapshot`: the snapshot at which this part ends; none if the log has none
    - `is_empty`: whether the log is still at the snapshot of `settled`; not set if the snapshots are not used
    - `commands_after_read`: the number of commands after `read`. Only set if the run reads the whole of a log
      that may lose rows. With `arrived` there is `counts_after` instead: an SQL expression of which commands these
      are
    - `arrived_type`: the type of the argument `arrived`; none if it is not given
    - `whole_log_reason`: why it is the whole log; none if it is not
-#}
{% macro _ensure_log_part(collection, progress) -%}
    {%- set part = {
        'commands': collection.source, 'commands_before': 0, 'settled': none, 'read': none,
        'snapshot': none, 'arrived_type': collection.arrived_type, 'whole_log_reason': none
    } -%}
    {%- if collection.is_by_select -%}
        {{ return(part) }}
    {%- endif -%}
    {%- set statement = trueup._get_view_statement(collection.source) -%}
    {%- set query = trueup._query_of_view(statement) -%}
    {%- set code = trueup._code_of_commands(collection, query or statement) -%}
    {%- set last = fromjson(progress.last_position) if progress.last_position else {} -%}
    {%- set read = dict(last.read, upper=last.upper) if last.get('read') else none -%}
    {%- set first = read if read and read.upper <= progress.lower else last.get('settled') -%}
    {%- set part = dict(
        part, code=code, settled=first, read=read, commands_before=first.commands if first else 0,
        whole_log_reason=none if first else 'no position in the log is settled yet'
    ) -%}
    {%- if read and last.code != code -%}
        {%- set part = trueup._whole_log(part, 'the code of the commands changed') -%}
    {%- endif -%}
    {{ return(
        trueup._ensure_part_by_arrival(collection, part) if collection.arrived_type
        else trueup._ensure_part_by_snapshots(collection, part, query)
    ) }}
{%- endmacro %}


{#- A part that is the whole log, because no position of the last batch can be trusted, as another dict. -#}
{% macro _whole_log(part, reason) -%}
    {{ return(dict(part, settled=none, read=none, commands_before=0, whole_log_reason=reason)) }}
{%- endmacro %}


{#- The part of a log with the argument `arrived`. -#}
{% macro _ensure_part_by_arrival(collection, part) -%}
    {%- set first = part.settled -%}
    {%- if not first and part.read and part.read.get('arrived') is not none and collection.options.log == 'partial' -%}
        {#- The statement that counts all commands counts these, too: the log may grow between two statements. -#}
        {{ return(dict(part, counts_after=trueup._arrived_since_expr(part.read.arrived, part.arrived_type))) }}
    {%- elif not first or first.get('arrived') is none -%}
        {{ return(part if not first else trueup._whole_log(part, 'argument `arrived` is new')) }}
    {%- endif -%}
    {%- set rows = 'select * from ' ~ collection.source ~ '\nwhere '
        ~ trueup._arrived_since_expr(first.arrived, part.arrived_type) -%}
    {#- The row of the position itself is still there, unless the log has lost it or was made again. -#}
    {%- set of_position -%}
select 1 from {{ collection.source }}
where _arrived = {{ trueup._arrived_value_expr(first.arrived, part.arrived_type) }}
limit 1
    {%- endset -%}
    {%- if not run_query(of_position).rows -%}
        {{ return(trueup._whole_log(part, 'the log no longer has a command with the last value of `arrived`')) }}
    {%- endif -%}
    {{ return(dict(part, commands=trueup._ensure_log_part_view(collection, rows))) }}
{%- endmacro %}


{#- Whether a command arrived with a value of `arrived` or later, as an SQL expression. -#}
{% macro _arrived_since_expr(arrived, arrived_type) -%}
_arrived >= {{ trueup._arrived_value_expr(arrived, arrived_type) }} or _arrived is null
{%- endmacro %}


{#- The part of a log that is a table with snapshots. A log of another kind is read as a whole. -#}
{% macro _ensure_part_by_snapshots(collection, part, query) -%}
    {%- set log = trueup._log_of_view(query) -%}
    {%- set properties = trueup._get_properties(log) if log else {} -%}
    {%- set obstacle = trueup._appended_rows_obstacle(properties) -%}
    {%- set snapshot = trueup._get_snapshot(log, properties) if not obstacle else none -%}
    {%- if snapshot is none -%}
        {{ return(trueup._whole_log(
            part, obstacle or ('the log is not an Iceberg table with rows or a Delta table, or the SQL of its'
            ~ ' commands has a window or a subquery')
        )) }}
    {%- endif -%}
    {%- set distrust = trueup._get_distrust_reason(
        collection.options, log, properties, part, snapshot
    ) -%}
    {%- set part = trueup._whole_log(part, distrust) if distrust else part -%}
    {%- set at_snapshot = trueup._rows_at(log, properties, snapshot) -%}
    {%- if not part.settled and part.read and trueup._may_lose_rows(collection.options) -%}
        {%- set part = dict(part, commands_after_read=trueup._get_commands_between(
            query, log, properties, part.read.snapshot, snapshot
        )) -%}
    {%- endif -%}
    {%- set is_empty = part.settled is not none and part.settled.snapshot == snapshot -%}
    {%- if is_empty -%}
        {%- set select = 'select * from (\n' ~ query ~ '\n) where false' -%}
    {%- elif part.settled -%}
        {%- set select = trueup._log_part_select(
            query, trueup._appended_rows(log, properties, part.settled.snapshot, snapshot)
        ) -%}
    {%- elif not trueup._get_has_current_columns(log, at_snapshot) -%}
        {{ return(trueup._whole_log(part, 'the columns of the log changed')) }}
    {%- else -%}
        {%- set select = trueup._log_part_select(query, at_snapshot) -%}
    {%- endif -%}
    {{ return(dict(
        part, snapshot=snapshot, is_empty=is_empty, commands=trueup._ensure_log_part_view(collection, select)
    )) }}
{%- endmacro %}


{#- The number of commands that a log has got between two of its snapshots. -#}
{% macro _get_commands_between(query, log, properties, first, last) -%}
    {%- if first == last -%}
        {{ return(0) }}
    {%- endif -%}
    {%- set select = trueup._log_part_select(query, trueup._appended_rows(log, properties, first, last)) -%}
    {{ return(run_query('select count(*) from ' ~ trueup._subquery(select)).rows[0][0]) }}
{%- endmacro %}


{#- Makes the session view of a part of the log, and returns its name. -#}
{% macro _ensure_log_part_view(collection, select) -%}
    {%- set view = trueup._session_name(collection.name, 'log_part') -%}
    {%- do trueup._ensure_session_view(view, select) -%}
    {{ return(view) }}
{%- endmacro %}


{#-
    A relation with all commands up to the end of the part that the run reads; none if the columns of the log have
    changed since then. One statement reads it together with that part. In an Iceberg log it must be a read of a
    version: Spark resolves a table only once in a statement, so a plain read would return only the part, too.
-#}
{% macro _ensure_log_history_view(collection, plan) -%}
    {%- if collection.arrived_type -%}
        {{ return(collection.source) }}
    {%- endif -%}
    {%- set query = trueup._query_of_view(trueup._get_view_statement(collection.source)) -%}
    {%- set log = trueup._log_of_view(query) -%}
    {%- set at_snapshot = trueup._rows_at(
        log, trueup._get_properties(log), plan.position.read.snapshot
    ) -%}
    {%- if not trueup._get_has_current_columns(log, at_snapshot) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set view = trueup._session_name(collection.name, 'log_history') -%}
    {%- do trueup._ensure_session_view(view, trueup._log_part_select(query, at_snapshot)) -%}
    {{ return(view) }}
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
