{#- Raises unless the arguments of `trueup.commands` are of the forms that they must have. -#}
{% macro _require_arguments(given, key) -%}
    {%- set relation = given.relation -%}
    {%- if relation is none or not (relation | string).strip() -%}
        {%- do trueup._refuse(trueup._argument('commands', 'relation'), 'a relation', relation) -%}
    {%- endif -%}
    {%- for argument in [
        'ts', 'delete_when', 'truncate_when', 'error', 'error_key', 'unchanged', 'old_key'
    ] if given[argument] is not none -%}
        {%- do trueup._require_expression('commands', argument, given[argument]) -%}
    {%- endfor -%}
    {%- set unchanged_value = given.unchanged_value -%}
    {%- if unchanged_value is not none and unchanged_value is not string -%}
        {%- do trueup._refuse(
            trueup._argument('commands', 'unchanged_value'), 'a text', unchanged_value
        ) -%}
    {%- endif -%}
    {%- do trueup._require_value_columns(key, given.columns, given.except_columns) -%}
{%- endmacro %}


{#- Raises unless at most one of the two lists of value columns is given, without the key. -#}
{% macro _require_value_columns(key, columns, except_columns) -%}
    {%- if columns is not none and except_columns is not none -%}
        {%- do trueup._refuse(
            trueup._argument('commands', 'columns'), 'left out where `except_columns` is given',
            columns
        ) -%}
    {%- endif -%}
    {%- for argument, names in {'columns': columns, 'except_columns': except_columns}.items()
        if names is not none -%}
        {%- do trueup._require_list(trueup._argument('commands', argument), names) -%}
        {%- for name in names if name | lower in key | map('lower') -%}
            {%- do trueup._refuse(
                trueup._argument('commands', argument), 'free of key columns', name
            ) -%}
        {%- endfor -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    The tick and the order, as far as they are given:

    - a sequence alone: its first expression is the tick, all of them are the order
    - `reclock`, a partition and an offset, instead of a tick: the batch gives the tick, and the
      order is the offset, unless there is a sequence
-#}
{% macro _tick_and_order(ts, sequence_by, reclock) -%}
    {%- if reclock is not none -%}
        {%- set subject = trueup._argument('commands', 'reclock') -%}
        {%- do trueup._require_list(subject, reclock) -%}
        {%- if reclock | length != 2 -%}
            {%- do trueup._refuse(
                subject, 'two columns, the partition and the offset in it', reclock
            ) -%}
        {%- elif ts is not none -%}
            {%- do trueup._refuse(
                trueup._argument('commands', 'ts'), 'left out where `reclock` is given', ts
            ) -%}
        {%- endif -%}
        {%- set sequence_by = sequence_by or [
            trueup._quote(reclock[1]), trueup._quote(reclock[0])
        ] -%}
    {%- endif -%}
    {%- set sequence_by = [sequence_by] if sequence_by is string else sequence_by -%}
    {%- do trueup._require_list(
        trueup._argument('commands', 'sequence_by'), sequence_by, are_names=false
    ) -%}
    {{ return({
        'ts': none if reclock else ts or sequence_by[0], 'sequence_by': sequence_by
    }) }}
{%- endmacro %}


{#- The value of an argument that has two names, of which at most one may be used. -#}
{% macro _either(name, value, other_name, other_value) -%}
    {%- if value is not none and other_value is not none -%}
        {%- do trueup._refuse(
            trueup._argument('commands', other_name), 'left out where `' ~ name ~ '` is given',
            other_value
        ) -%}
    {%- endif -%}
    {{ return(other_value if value is none else value) }}
{%- endmacro %}


{#-
    Where a null means 'unchanged': none for nowhere, else a dict of `columns` and `is_except`:
    in these columns, or in all but these.
-#}
{% macro _ignored_nulls(ignore_null_updates, column_list, except_column_list) -%}
    {%- set subject = trueup._argument('commands', 'ignore_null_updates') -%}
    {%- set ignored = ignore_null_updates -%}
    {%- if column_list is not none or except_column_list is not none -%}
        {%- if ignored is not none and ignored is not boolean -%}
            {%- do trueup._refuse(subject, 'true where a list of its columns is given', ignored) -%}
        {%- endif -%}
        {%- set ignored = trueup._either(
            'ignore_null_updates_column_list', column_list,
            'ignore_null_updates_except_column_list',
            none if except_column_list is none else {'except': except_column_list}
        ) -%}
    {%- endif -%}
    {%- if ignored is none or ignored is false -%}
        {{ return(none) }}
    {%- elif ignored is true -%}
        {{ return({'columns': [], 'is_except': true}) }}
    {%- endif -%}
    {%- set is_except = ignored is mapping -%}
    {%- if is_except and ignored.keys() | list != ['except'] -%}
        {%- do trueup._refuse(
            subject, 'true, a list of columns, or a mapping of `except` to such a list', ignored
        ) -%}
    {%- endif -%}
    {%- set names = ignored['except'] if is_except else ignored -%}
    {%- do trueup._require_list(subject, names) -%}
    {{ return({'columns': names, 'is_except': is_except}) }}
{%- endmacro %}
