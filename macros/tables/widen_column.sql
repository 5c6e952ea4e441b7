{#-
    Widens columns. Iceberg widens most types in place, but it cannot change a date to a timestamp. For that
    a helper column takes the values, and then the name of the column. A date becomes its midnight in UTC,
    whatever the time zone of the session. So it means the same in every session and keeps its digest.

    The columns of a table while a run R widens `d`, and the next statement of R:

    `d` date                                   adds `_widening_to_R_d`
    `d` date, `_widening_to_R_d`               fills it, renames `d` to `_widening_from_R_d`
    `_widening_from_R_d`, `_widening_to_R_d`   renames `_widening_to_R_d` to `d`
    `_widening_from_R_d`, `d` timestamp        drops `_widening_from_R_d`

    A run may be killed after any statement. Another run may widen the same column between any two
    statements. Nothing is lost, because each statement that comes too late fails or can be undone:

    - A helper column has the run in its name. A run adds, fills and renames only its own helper.
    - No statement drops `d`. Before a column is dropped, `d` has got all its values.
    - Filling raises unless `d` is a date. A late run may still rename a widened `d`. Its type shows that,
      and `_ensure_widened` renames it back.

    Another run may append meanwhile. If it read its batch after a helper was added, the batch does not fit
    the table, and that run fails. If it read its batch before, filling protects the dates: filling also
    writes the progress rows, which the other run has read. So one of the two fails. Otherwise the dates of
    the batch would be lost.
-#}

{#- The statements that begin the widening of a column. If the column is widened in place, these are all. -#}
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
        trueup._step_marker('widen') ~ '\nupdate ' ~ table ~ ' set ' ~ helper
            ~ ' = case when typeof(' ~ name ~ ") = 'date' then "
            ~ trueup._utc_timestamp_expr(name) ~ ' else raise_error('
            ~ trueup._literal(trueup._columns_moved_message(table)) ~ ') end'
            ~ ' where ' ~ name ~ " is not null or _kind = 'progress'",
        alter ~ ' rename column ' ~ name ~ ' to ' ~ old,
    ]) }}
{%- endmacro %}


{#-
    Ends every widening of a table that has begun: of this run, of killed runs, and of other active runs.
    Returns the resulting key and value columns of the table. The column is a timestamp if its helper was
    filled and the date renamed, else still a date.
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


{#- The next statements of the widenings that the columns of a table show; none if they show none. -#}
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
                {%- do statements.append(trueup._copy_sql(table, old.column, name, found.type)) -%}
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
    The widenings that columns show. A dict by the name of the widened column: `type`, the type of the
    column with this name, none if it does not exist; `to` and `from`, the helpers and the old columns, each
    with its `run` and its `column`.
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
    The part of a widening that gets the column's name; none if a column has it, or if there is no such
    part. In this order: a column that was already widened, and then renamed by a late run; the helper of
    the run that has renamed the date, because that run filled it before; the date itself.
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


{#- The statement that copies to a column the values that only its old column has: usually there are none. -#}
{% macro _copy_sql(table, old, name, type) -%}
    {%- set name = trueup._quoted(name) -%}
    {%- set value = trueup._quoted(old.name) -%}
    {{ return(
        trueup._step_marker('widen') ~ '\nupdate ' ~ table ~ ' set ' ~ name ~ ' = '
        ~ (value if old.type == type else trueup._utc_timestamp_expr(value))
        ~ ' where ' ~ value ~ ' is not null and ' ~ name ~ ' is null'
    ) }}
{%- endmacro %}


{#- The prefix of the names of the helper columns of a widening. -#}
{% macro _widening_prefix() -%}
    {{ return('_widening_') }}
{%- endmacro %}
