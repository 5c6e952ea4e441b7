{#-
    The statements that widen a column, in sequence. Iceberg cannot make a date a timestamp in
    place: a helper column takes the values, and then the name. Whichever of these statements a run
    is killed after, the next run goes on from there: `is_begun` says that the helper is there, and
    `_name_widened` makes up for a name that is missing.

    Another run may append meanwhile. A batch that was read after the helper came does not fit the
    table, and that run fails. For one that was read before, the update writes the progress rows,
    too: the other run has read them, so one of the two fails. Else its dates would be gone.
-#}
{% macro widen_column_sqls(table, column, is_begun=false) -%}
    {%- set alter = 'alter table ' ~ table -%}
    {%- set name = trueup._quote(column.name) -%}
    {%- if column.old_type != 'date' -%}
        {{ return([alter ~ ' alter column ' ~ name ~ ' type ' ~ column.type]) }}
    {%- endif -%}
    {%- set helper = trueup._quote(trueup._widening_prefix() ~ column.name) -%}
    {{ return(([] if is_begun else [alter ~ ' add column ' ~ helper ~ ' ' ~ column.type]) + [
        'update ' ~ table ~ ' set ' ~ helper ~ ' = cast(' ~ name ~ ' as ' ~ column.type ~ ')'
            ~ ' where ' ~ name ~ " is not null or _kind = 'progress'",
        alter ~ ' drop column ' ~ name,
        alter ~ ' rename column ' ~ helper ~ ' to ' ~ name,
    ]) }}
{%- endmacro %}


{#-
    Gives each helper whose column is gone the name of that column: the last statement of a
    widening that a run was killed in. Returns the key and value columns of the table.
-#}
{% macro _name_widened(table) -%}
    {%- set columns = trueup.get_shard_columns(table) -%}
    {%- set names = columns | map(attribute='name') | list -%}
    {%- set renamed = [] -%}
    {%- for helper in names if helper.startswith(trueup._widening_prefix()) -%}
        {%- set name = helper[trueup._widening_prefix() | length:] -%}
        {%- if name not in names -%}
            {%- do renamed.append(name) -%}
            {%- do run_query(
                'alter table ' ~ table ~ ' rename column ' ~ trueup._quote(helper) ~ ' to '
                ~ trueup._quote(name)
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(trueup.get_shard_columns(table) if renamed else columns) }}
{%- endmacro %}


{#-
    Raises where a helper is there whose column is not to be widened any more. It is not dropped
    here: another run may be just about to drop the column that it was made from.
-#}
{% macro _require_wanted(table, helpers, widened) -%}
    {%- set prefix = trueup._widening_prefix() -%}
    {%- set names = widened | map(attribute='name') | list -%}
    {%- for helper in helpers if helper[prefix | length:] not in names -%}
        {%- do trueup._refuse(
            table | string, 'without the helper of a widening that the commands do not ask for',
            helper,
            'If no other run is at it, call it off: alter table ' ~ table ~ ' drop column '
            ~ trueup._quote(helper) ~ '.'
        ) -%}
    {%- endfor -%}
{%- endmacro %}


{% macro _widening_prefix() -%}
    {{ return('_widening_') }}
{%- endmacro %}
