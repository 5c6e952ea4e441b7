{#-
    The range of the keys of a batch. Most logs change new and recent keys. If the state is large, stage and
    apply read only the files, and parts of files, that may have a key in the range. The table format finds
    them by its statistics.

    The range is queried first. Updates that arrive later with a key outside it are refused: their keys
    would be taken for new ones. The range is of the first key column. It stands in the statements as
    literals, because Spark allows no variables in the condition of a MERGE. Null keys are in every range.
    So are errors and the progress row, whose keys are null.
-#}

{#-
    A range that contains all keys of `keys`, which are selects of the first key column. `columns` are those
    of the changelog. A dict of literals, `first` and `last`, null without a key; none if the column has no
    range.
-#}
{% macro _get_key_range(keys, unique_key, columns) -%}
    {%- set column = columns | selectattr('name', 'eq', unique_key[0]) | first -%}
    {%- if not trueup._has_range(column.type) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set found = fromjson(run_query(trueup._key_range_select(keys, column.type)).rows[0][0]) -%}
    {%- set literals = {
        'date': 'date_from_unix_date(cast({0} as int))',
        'timestamp': 'timestamp_micros(cast({0} as bigint))',
    } -%}
    {%- set literal = literals.get(column.type, 'cast({0} as ' ~ column.type ~ ')') -%}
    {{ return({
        'first': literal.format(trueup._literal_or_null(found.get('first'))),
        'last': literal.format(trueup._literal_or_null(found.get('last'))),
    }) }}
{%- endmacro %}


{#-
    The select behind `_get_key_range`: one row, the first and the last key as texts in JSON. Whole numbers
    are rounded, down and up, to a multiple of a power of two. That power is at most an eighth of the
    distance between them. So the ranges of scattered keys are often the same, and Spark reuses the code
    that it compiled for the range. Operations on bits cannot overflow.
-#}
{% macro _key_range_select(keys, type) -%}
    {%- set numbers = {'date': 'unix_date(_key)', 'timestamp': 'unix_micros(_key)'} -%}
    {%- set is_whole = not type.startswith('decimal') -%}
    {%- set number = numbers.get(type, 'cast(_key as bigint)' if is_whole else '_key') -%}
select to_json(struct(
    cast(_first{{ ' & -_step' if is_whole }} as string) as first,
    cast(_last{{ ' | (_step - 1)' if is_whole }} as string) as last
))
from (
    select
        *
        {%- if is_whole %},
        shiftleft(1L, greatest(0, cast(log2(cast(_last as double) - _first) as int) - 3)) as _step
        {%- endif %}
    from (
        select
            min(_number) as _first,
            max(_number) as _last
        from (
            {% for select in keys -%}
            {{ 'union all ' if not loop.first }}select {{ number }} from {{
                trueup._subquery(select)
            }} as given (_key)
            {% endfor -%}
        ) as numbers (_number)
    )
)
{%- endmacro %}


{#-
    Whether keys of a type have a range: numbers and times. The statistics of texts are cut short, and do
    not cover bytes that are not text.
-#}
{% macro _has_range(type) -%}
    {{ return(trueup._parsed_type(type).name in [
        'tinyint', 'smallint', 'int', 'bigint', 'decimal', 'date', 'timestamp'
    ]) }}
{%- endmacro %}


{#- A condition: whether a key, an SQL expression of the first key column, is in the range. -#}
{% macro _in_key_range_expr(key_range, key) -%}
    {{ return(
        '(' ~ key ~ ' between ' ~ key_range.first ~ ' and ' ~ key_range.last ~ ' or ' ~ key
        ~ ' is null)'
    ) }}
{%- endmacro %}
