{#- The corrections that add the rows of an adopted table, as a select. `rows` is a select. -#}
{% macro _adoption_select(rows, plan, unique_key) -%}
select
    {{ trueup._column_list(unique_key) }},
    cast(null as string) as _error_key,
    if(false, _persisted, null) as _persisted,
    _persisted as _desired,
    'adopted' as _cause,
    cast({{ plan.seq }} as bigint) as _seq,
    cast({{ plan.upper - 1 }} as bigint) as _ts,
    cast(null as string) as _after_batch_id
from {{ trueup._subquery(rows) }}
where not _is_null_key
{%- endmacro %}


{#-
    One row for each key of a table that was not made by trueup, as a select: the key; `_persisted`, a struct
    of the value columns and `_error`; `_persisted_count`, how many rows of the table have the key; and
    `_is_null_key`, whether the key is null where it must not be.

    If a key has several rows, the greatest is taken: the table gives no better rule, and another run must
    take the same one. `columns` are those of the collection. A column that the table lacks is null.
-#}
{% macro _adopted_rows_select(table, table_columns, columns, unique_key, null_keys) -%}
    {%- set found, values = {}, [] -%}
    {%- for column in table_columns -%}
        {%- do found.update({column.name | lower: column}) -%}
    {%- endfor -%}
    {%- for name in unique_key if name | lower not in found -%}
        {%- do trueup._raise_error(
            'The table ' ~ table, 'one with the key of the collection: ' ~ (unique_key | join(', ')),
            'no column ' ~ name, 'Nothing is adopted. Look at `unique_key`, or rename the column of the table.'
        ) -%}
    {%- endfor -%}
    {%- set keys = columns | selectattr('name', 'in', unique_key) | list -%}
    {%- set key_list = trueup._column_list(keys | map(attribute='name')) -%}
    {%- for column in columns | rejectattr('name', 'in', unique_key) -%}
        {%- do values.append(
            trueup._literal(column.name) ~ ', ' ~ trueup._adopted_column_expr(column, found)
        ) -%}
    {%- endfor %}
select
    {{ key_list }},
    max(_persisted) as _persisted,
    count(*) as _persisted_count,
    {% if null_keys == 'value' or unique_key | length > 1 -%}
    false as _is_null_key
    {%- else -%}
    {{ key_list }} is null as _is_null_key
    {%- endif %}
from (
    select
        {% for column in keys -%}
        {{ trueup._adopted_column_expr(column, found) }} as {{ trueup._quoted(column.name) }},
        {% endfor -%}
        named_struct({{ (values + ["'_error', cast(null as string)"]) | join(', ') }}) as _persisted
    from {{ table }} as adopted
)
group by {{ key_list }}
{%- endmacro %}


{#-
    A column of an adopted table, in the type and the form of the collection. It is never named alone: the table of the
    corrections would take over its default, which Delta refuses.
-#}
{% macro _adopted_column_expr(column, found) -%}
    {%- set given = found.get(column.name | lower) -%}
    {%- set type = trueup._sql_type(column.type) -%}
    {%- if given is none -%}
        {{ return('cast(null as ' ~ type ~ ')') }}
    {%- endif -%}
    {%- set value = 'adopted.' ~ trueup._quoted(given.name) -%}
    {%- if given.type != column.type -%}
        {%- set value = 'try_cast(' ~ value ~ ' as ' ~ type ~ ')' -%}
    {%- endif -%}
    {{ return(
        value ~ ' + cast(0 as ' ~ type ~ ')' if column.type in ['float', 'double'] else 'coalesce(' ~ value ~ ')'
    ) }}
{%- endmacro %}
