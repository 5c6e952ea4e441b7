{#-
    The arguments of `trueup.commands` that can be given in more than one way.
-#}

{#- The value of an argument that has two names. At most one of the names may be used. -#}
{% macro _given_value(name, value, other_name, other_value) -%}
    {%- if value is not none and other_value is not none -%}
        {%- do trueup._raise_error(
            trueup._argument('commands', other_name), 'left out, because `' ~ name ~ '` is given',
            other_value
        ) -%}
    {%- endif -%}
    {{ return(other_value if value is none else value) }}
{%- endmacro %}


{#-
    The columns in which a null means 'unchanged'. None if there are none. Otherwise a dict of
    `names` and `is_except`: these columns, or all but these.
-#}
{% macro _ignored_nulls(ignored, column_list, except_column_list) -%}
    {%- set subject = trueup._argument('commands', 'ignore_null_updates') -%}
    {%- set names = trueup._given_value(
        'ignore_null_updates_column_list', column_list,
        'ignore_null_updates_except_column_list', except_column_list
    ) -%}
    {%- if names is not none and ignored is not none and ignored is not true -%}
        {%- do trueup._raise_error(subject, 'true or left out, because a list of its columns is given', ignored) -%}
    {%- elif names is not none -%}
        {%- set ignored = names if except_column_list is none else {'except': names} -%}
    {%- endif -%}
    {%- if ignored is none or ignored is false -%}
        {{ return(none) }}
    {%- elif ignored is true -%}
        {{ return({'names': [], 'is_except': true}) }}
    {%- endif -%}
    {%- set is_except = ignored is mapping and ignored.keys() | list == ['except'] -%}
    {%- set names = ignored['except'] if is_except else ignored -%}
    {%- if names is mapping or names is string or names is not iterable -%}
        {%- do trueup._raise_error(
            subject, 'true, a list of columns, or a mapping of `except` to such a list', ignored
        ) -%}
    {%- endif -%}
    {%- do trueup._require_list(subject, names) -%}
    {{ return({'names': names, 'is_except': is_except}) }}
{%- endmacro %}


{#- Raises unless the arguments of `trueup.commands` have valid forms. -#}
{% macro _require_arguments(given, key) -%}
    {%- do trueup._require_relation('commands', given.relation) -%}
    {%- for argument in [
        'ts', 'delete_when', 'truncate_when', 'error', 'error_key', 'unchanged', 'old_key', 'skip_when'
    ] if given[argument] is not none -%}
        {%- do trueup._require_expression('commands', argument, given[argument]) -%}
    {%- endfor -%}
    {%- do trueup._require_reclock('commands', given.reclock) -%}
    {%- set unchanged_value = given.unchanged_value -%}
    {%- if unchanged_value is not none and unchanged_value is not string -%}
        {%- do trueup._raise_error(
            trueup._argument('commands', 'unchanged_value'), 'a text', unchanged_value
        ) -%}
    {%- endif -%}
    {%- do trueup._require_value_columns(given.columns, given.except_columns, key) -%}
    {%- if given.columns and given.ignored_nulls -%}
        {%- do trueup._require_value_names(
            given.ignored_nulls.names, trueup._names_but(given.columns, key)
        ) -%}
    {%- elif given.ignored_nulls and not given.ignored_nulls.is_except -%}
        {%- do trueup._require_no_other_columns(given.ignored_nulls.names, key + (given.except_columns or [])) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless `reclock` is none or the place of a message. -#}
{% macro _require_reclock(macro, reclock) -%}
    {%- set subject = trueup._argument(macro, 'reclock') -%}
    {%- if reclock is not none -%}
        {%- do trueup._require_list(subject, reclock, are_names=false) -%}
        {%- if reclock | length > 3 -%}
            {%- do trueup._raise_error(
                subject, 'a list of one to three expressions: topic, partition and offset; the offset is the last', reclock | join(', ')
            ) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if both lists are given, or if the list leaves no column beside the key. -#}
{% macro _require_value_columns(columns, except_columns, key) -%}
    {%- set columns_subject = trueup._argument('commands', 'columns') -%}
    {%- set except_subject = trueup._argument('commands', 'except_columns') -%}
    {%- if columns is not none and except_columns is not none -%}
        {%- do trueup._raise_error(
            columns_subject, 'left out, because `except_columns` is given', columns
        ) -%}
    {%- elif columns is not none -%}
        {%- do trueup._require_list(columns_subject, columns) -%}
        {%- if not trueup._names_but(columns, key) -%}
            {%- do trueup._raise_error(
                columns_subject, 'a list with at least one column that is not in the key', columns
            ) -%}
        {%- endif -%}
    {%- elif except_columns is not none -%}
        {%- do trueup._require_list(except_subject, except_columns) -%}
        {%- if trueup._names_but(except_columns, key) != except_columns -%}
            {%- do trueup._raise_error(except_subject, 'a list without key columns', except_columns) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if a column of `ignore_null_updates` is not a value column. -#}
{% macro _require_value_names(names, columns) -%}
    {%- for name in trueup._names_but(names, columns) -%}
        {%- do trueup._raise_error(
            trueup._argument('commands', 'ignore_null_updates'),
            'a list of value columns (' ~ (columns | join(', ')) ~ ')', name
        ) -%}
    {%- endfor -%}
{%- endmacro %}


{#- Raises if a column of `ignore_null_updates` is one of the others: the key and the columns that are left out. -#}
{% macro _require_no_other_columns(names, others) -%}
    {%- set values = trueup._names_but(names, others) -%}
    {%- for name in trueup._names_but(names, values) -%}
        {%- do trueup._raise_error(
            trueup._argument('commands', 'ignore_null_updates'),
            'a list of value columns, without ' ~ (others | join(', ')), name
        ) -%}
    {%- endfor -%}
{%- endmacro %}


{#- The names that are not in the other list. Upper and lower case do not matter. -#}
{% macro _names_but(names, others) -%}
    {%- set others = others | map('lower') | list -%}
    {%- set found = [] -%}
    {%- for name in names if name | lower not in others -%}
        {%- do found.append(name) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}
