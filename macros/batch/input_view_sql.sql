{#-
    The view `input` of the Spark session: the commands of the ticks `[lower, upper)` in the form
    that the fold reads. Here, where the columns of the shard are known by name, everything is done
    that needs their names: values are brought into the shard's order, the value of an error is
    null, -0.0 becomes 0.0, and the content gets a hash that knows nulls and positions.

    `columns` are the shard's key and value columns, each with `name` and `type`.
-#}
{% macro input_view_sql(collection, commands, unique_key, columns) -%}
    {%- set frontier = trueup._session_name(collection, 'frontier') -%}
    {%- set keys = columns | selectattr('name', 'in', unique_key) | list -%}
    {%- set values = columns | rejectattr('name', 'in', unique_key) | list -%}
create or replace temporary view {{ trueup._session_name(collection, 'input') }} as
with

bounded as (

    select
        *,
        _op <> 'delete' and _error is null and _error_key is null as _is_row
    from {{ commands }}
    where _ts >= {{ frontier }}.lower and _ts < {{ frontier }}.upper

),

contents as (

    select
        {% for column in keys -%}
        case when _error_key is null then {{ trueup._one_form_expr(column) }} end
            as {{ trueup._quote(column.name) }},
        {% endfor -%}
        {% for column in values -%}
        case when _is_row then {{ trueup._one_form_expr(column) }} end
            as {{ trueup._quote(column.name) }},
        {% endfor -%}
        case when _op <> 'delete' then {{ trueup._error_text_expr() }} end as _error,
        _error_key,
        _ts,
        _order,
        _op
    from bounded

)

select
    {{ trueup._column_list(unique_key) }},
    _error_key,
    _ts,
    _order,
    case when _op <> 'delete' then named_struct(
        {%- for column in values %}
        {{ trueup._literal(column.name) }}, {{ trueup._quote(column.name) }},
        {%- endfor %}
        '_error', _error
    ) end as _value,
    xxhash64(
        _op, _error
        {%- for column in values %},
        {{ trueup._quote(column.name) }} is null, {{ trueup._quote(column.name) }}
        {%- endfor %}
    ) as _hash
from contents
{%- endmacro %}


{#- A column with one form for each value: Spark calls 0.0 and -0.0 equal, and so do we. -#}
{% macro _one_form_expr(column) -%}
    {%- set name = trueup._quote(column.name) -%}
    {%- set is_float = column.type in ['float', 'double'] -%}
    {{ return(name ~ ' + cast(0 as ' ~ column.type ~ ')' if is_float else name) }}
{%- endmacro %}


{#-
    What an error says. The text of a value error is its payload; that of a key error is always the
    same, so that a second message with the same bytes, or without a key, is no change.
-#}
{% macro _error_text_expr() -%}
case
            when _error_key is null then _error
            when _error_key = 'null' then 'the key is null'
            else 'the key cannot be decoded'
        end
{%- endmacro %}
