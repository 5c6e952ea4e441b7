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
    The tick and the order, as a dict of `ts`, `ts_subject` and `sequence_by`.

    - If only a sequence is given, its first expression is the tick, and all its expressions are the
      order.
    - With `reclock`, a partition and an offset replace the tick. The batch gives the tick. The
      order is the offset, unless there is a sequence.
-#}
{% macro _tick_and_order(ts, sequence_by, reclock) -%}
    {%- if reclock is not none -%}
        {%- do trueup._require_reclock(reclock, ts) -%}
        {%- if sequence_by is none and trueup._options().late == 'newest' -%}
            {%- do trueup._raise_error(
                trueup._argument('commands', 'sequence_by'),
                'given with `reclock` and `late: newest`, because offsets of two partitions cannot be compared',
                'none'
            ) -%}
        {%- elif sequence_by is none -%}
            {%- set sequence_by = [trueup._quoted(reclock[1]), trueup._quoted(reclock[0])] -%}
        {%- endif -%}
    {%- endif -%}
    {%- set sequence_by = [sequence_by] if sequence_by is string else sequence_by -%}
    {%- do trueup._require_list(
        trueup._argument('commands', 'sequence_by'), sequence_by, are_names=false
    ) -%}
    {{ return({
        'ts': none if reclock else ts or sequence_by[0],
        'ts_subject': trueup._argument('commands', 'ts') if ts
            else 'Without `ts` the first expression of `sequence_by`',
        'sequence_by': sequence_by,
    }) }}
{%- endmacro %}


{#- Raises unless `reclock` is a pair of columns and no tick is given beside it. -#}
{% macro _require_reclock(reclock, ts) -%}
    {%- set subject = trueup._argument('commands', 'reclock') -%}
    {%- do trueup._require_list(subject, reclock) -%}
    {%- if reclock | length != 2 -%}
        {%- do trueup._raise_error(subject, 'two columns: the partition, and the offset in it', reclock) -%}
    {%- elif ts is not none -%}
        {%- do trueup._raise_error(
            trueup._argument('commands', 'ts'), 'left out, because `reclock` is given', ts
        ) -%}
    {%- endif -%}
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
