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
    The range of the keys that `keys`, selects of the first key column, have; `columns` are the
    shard's. A dict of literals, `first` and `last`, null without a key; or none where the column has
    no range.
-#}
{% macro get_key_range(keys, unique_key, columns) -%}
    {%- set column = columns | selectattr('name', 'eq', unique_key[0]) | first -%}
    {%- if not trueup._has_range(column.type) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set found = fromjson(run_query(trueup.key_range_sql(keys, column.type)).rows[0][0]) -%}
    {%- set key_range = {} -%}
    {%- for end in ['first', 'last'] -%}
        {%- set text = trueup._literal_or_null(found.get(end)) -%}
        {%- do key_range.update({
            end: 'timestamp_micros(cast(' ~ text ~ ' as bigint))' if column.type == 'timestamp'
                else 'cast(' ~ text ~ ' as ' ~ column.type ~ ')'
        }) -%}
    {%- endfor -%}
    {{ return(key_range) }}
{%- endmacro %}


{#- The select behind `get_key_range`: one row, the first and the last key as texts in JSON. -#}
{% macro key_range_sql(keys, type) -%}
    {%- set key = 'unix_micros(_key)' if type == 'timestamp' else '_key' -%}
select to_json(struct(
    cast(min({{ key }}) as string) as first,
    cast(max({{ key }}) as string) as last
))
from (
    {% for select in keys -%}
    {{ 'union all ' if not loop.first }}select _key from {{ trueup._subquery(select) }} as given (_key)
    {% endfor -%}
)
{%- endmacro %}


{#- Whether a look at the keys of so many changes pays, on a state of so many rows. -#}
{% macro _pays_to_find_range(changes, rows) -%}
    {{ return(rows >= 1000000 and rows >= 10 * changes) }}
{%- endmacro %}


{#-
    Whether keys of a type have a range: numbers and times. The statistics of texts are cut, and say
    nothing of bytes that are no text.
-#}
{% macro _has_range(type) -%}
    {{ return(trueup._parse_type(type).name in [
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


{#-
    The same for what the range was made for, as a condition that raises where it is false: commands or
    batches may have come since.
-#}
{% macro _require_in_key_range_expr(key_range, keys) -%}
    {%- set terms = [] -%}
    {%- for key in keys -%}
        {%- do terms.append(trueup._in_key_range_expr(key_range, key)) -%}
    {%- endfor -%}
case
            when {{ terms | join(' and ') }} then true
            else raise_error(
                'keys moved: more came to the log or the changelog while this run looked at its keys;'
                ' nothing is written, run again'
            )
        end
{%- endmacro %}
