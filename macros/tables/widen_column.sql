{#-
    Widens columns. Iceberg widens most types in place, but it cannot make a date a timestamp: a
    helper column takes the values, and then the name. A date becomes its midnight in UTC, whatever
    the time zone of the session is, so that it means the same in every session and keeps its digest.

    The columns of a table while a run R widens `d`, and what R does next:

    `d` date                                   adds `_widening_to_R_d`
    `d` date, `_widening_to_R_d`               fills it, renames `d` to `_widening_from_R_d`
    `_widening_from_R_d`, `_widening_to_R_d`   renames `_widening_to_R_d` to `d`
    `_widening_from_R_d`, `d` timestamp        drops `_widening_from_R_d`

    A run may be killed after any statement, and another run may widen the same column between any
    two. Nothing is lost, because each statement that comes too late fails or can be taken back:

    - A helper column has the run in its name. What a run adds, fills and renames is its own.
    - No statement drops `d`. A column that is dropped has given all its values to `d` before.
    - Filling raises unless `d` is a date. A late run may still rename a widened `d` away; its type
      shows that, and `_ensure_widened` gives it its name again.

    Another run may append meanwhile. A batch that was read after a helper came does not fit the
    table, and that run fails. For one that was read before, filling writes the progress rows, too:
    the other run has read them, so one of the two fails. Else its dates would be gone.
-#}

{#- The statements with which this run begins to widen a column; all, where it is widened in place. -#}
{% macro _begin_widening_sqls(table, column) -%}
    {%- set alter = trueup._step_marker('alter') ~ '\nalter table ' ~ table -%}
    {%- set name = trueup._quoted(column.name) -%}
    {%- if column.old_type != 'date' -%}
        {{ return([alter ~ ' alter column ' ~ name ~ ' type ' ~ column.type]) }}
    {%- endif -%}
    {%- set run = invocation_id[:8] ~ '_' ~ column.name -%}
    {%- set helper = trueup._quoted(trueup._widening_prefix() ~ 'to_' ~ run) -%}
    {%- set old = trueup._quoted(trueup._widening_prefix() ~ 'from_' ~ run) -%}
    {{ return([
        alter ~ ' add column ' ~ helper ~ ' ' ~ column.type,
        trueup._step_marker('widen') ~ '\nupdate ' ~ table ~ ' set ' ~ helper ~ ' = case when typeof(' ~ name ~ ") = 'date' then "
            ~ trueup._utc_timestamp_expr(name) ~ ' else raise_error('
            ~ trueup._literal(trueup._columns_moved_message(table)) ~ ') end'
            ~ ' where ' ~ name ~ " is not null or _kind = 'progress'",
        alter ~ ' rename column ' ~ name ~ ' to ' ~ old,
    ]) }}
{%- endmacro %}


{#-
    Brings every widening of a table that has begun to an end, this run's and those of runs that were
    killed or are under way, and returns the key and value columns of the table then. The column is
    a timestamp if its helper was filled and the date renamed, else still a date.
-#}
{% macro _ensure_widened(table) -%}
    {%- set columns = trueup._get_user_columns(table) -%}
    {%- set statements = trueup._next_widening_sqls(table, columns) -%}
    {%- if not statements -%}
        {{ return(columns) }}
    {%- endif -%}
    {%- for statement in statements -%}
        {%- do run_query(statement) -%}
    {%- endfor -%}
    {{ return(trueup._ensure_widened(table)) }}
{%- endmacro %}


{#- The next statements of the widenings that a table shows, by its columns; none where it shows none. -#}
{% macro _next_widening_sqls(table, columns) -%}
    {%- set alter = trueup._step_marker('alter') ~ '\nalter table ' ~ table -%}
    {%- set statements = [] -%}
    {%- for name, found in trueup._open_widenings(columns).items() -%}
        {%- set source = trueup._widening_source(found) -%}
        {%- if source is not none -%}
            {%- do statements.append(
                alter ~ ' rename column ' ~ trueup._quoted(source.column.name) ~ ' to '
                ~ trueup._quoted(name)
            ) -%}
        {%- else -%}
            {%- for old in found.from if found.type is not none -%}
                {%- do statements.append(trueup._copy_expr(table, old.column, name, found.type)) -%}
            {%- endfor -%}
            {%- for part in found.from + found.to -%}
                {%- do statements.append(
                    alter ~ ' drop column if exists ' ~ trueup._quoted(part.column.name)
                ) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(statements) }}
{%- endmacro %}


{#-
    The widenings that columns show. A dict by the name of the widened column: `type`, that of the
    column of this name, none where there is none; `to` and `from`, the helpers and the old columns,
    each with its `run` and its `column`.
-#}
{% macro _open_widenings(columns) -%}
    {%- set types, found = {}, {} -%}
    {%- for column in columns -%}
        {%- do types.update({column.name | lower: column.type}) -%}
    {%- endfor -%}
    {%- set form = '(?s)' ~ trueup._widening_prefix() ~ '(to|from)_([0-9a-z]+)_(.*)' -%}
    {%- for column in columns -%}
        {%- set match = modules.re.fullmatch(form, column.name) -%}
        {%- if match -%}
            {%- set name = match.group(3) -%}
            {%- do found.setdefault(name, {
                'type': types.get(name | lower), 'to': [], 'from': []
            })[match.group(1)].append({'run': match.group(2), 'column': column}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}


{#-
    The part of a widening that is to have its name; none where a column has it, or none can. It is
    the column that was widened already and then renamed by a run that came late; or the helper of
    the run that has renamed the date, which has filled it before; or else the date itself.
-#}
{% macro _widening_source(found) -%}
    {%- if found.type is not none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set widened = found.from | rejectattr('column.type', 'eq', 'date') | list -%}
    {%- set runs = found.from | map(attribute='run') | list -%}
    {%- set filled = found.to | selectattr('run', 'in', runs) | list -%}
    {{ return((widened + filled + found.from) | first | default(none)) }}
{%- endmacro %}


{#- The statement that gives a column the values of an old one that it lacks: none, as a rule. -#}
{% macro _copy_expr(table, old, name, type) -%}
    {%- set name = trueup._quoted(name) -%}
    {%- set value = trueup._quoted(old.name) -%}
    {{ return(
        trueup._step_marker('widen') ~ '\nupdate ' ~ table ~ ' set ' ~ name ~ ' = '
        ~ (value if old.type == type else trueup._utc_timestamp_expr(value))
        ~ ' where ' ~ value ~ ' is not null and ' ~ name ~ ' is null'
    ) }}
{%- endmacro %}


{#- How the names of the helper columns of a widening begin. -#}
{% macro _widening_prefix() -%}
    {{ return('_widening_') }}
{%- endmacro %}
