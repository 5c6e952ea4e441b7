{#-
    The range of the keys of a batch. Most logs change new and recent keys: where the state is large,
    stage and apply read only those of its files, and parts of files, that can have a key of the range.
    A table format knows from its statistics which these are.

    The range is looked for first, and what came since is refused: its keys would be taken for new
    ones. It is of the first key column, and stands in the statements as literals: Spark knows no
    variables in the condition of a MERGE. Null keys are in every range, and so are errors and the
    progress row, whose keys are null.
-#}

{#-
    A range that has all keys of `keys`, selects of the first key column; `columns` are those of the changelog. A
    dict of literals, `first` and `last`, null without a key; or none where the column has
    no range.
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
    The select behind `_get_key_range`: one row, the first and the last key as texts in JSON. Whole
    numbers are rounded, down and up to a multiple of a power of two that is at most an eighth of what
    lies between them: the ranges of scattered keys differ little, and Spark keeps the code that it
    has compiled for a range as long as the range stays the same. Bits cannot overflow.
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
    Whether keys of a type have a range: numbers and times. The statistics of texts are cut, and say
    nothing of bytes that are no text.
-#}
{% macro _has_range(type) -%}
    {{ return(trueup._parsed_type(type).name in [
        'tinyint', 'smallint', 'int', 'bigint', 'decimal', 'date', 'timestamp'
    ]) }}
{%- endmacro %}


{#- Whether a key, an SQL expression of the first key column, is in the range, as a condition. -#}
{% macro _in_key_range_expr(key_range, key) -%}
    {{ return(
        '(' ~ key ~ ' between ' ~ key_range.first ~ ' and ' ~ key_range.last ~ ' or ' ~ key
        ~ ' is null)'
    ) }}
{%- endmacro %}
