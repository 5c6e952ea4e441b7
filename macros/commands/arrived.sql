{#- The argument `arrived` as a bigint, and back. The type is that of the column `_arrived`. -#}

{#- How to turn the values of each allowed type into a bigint, and a bigint into a value. -#}
{% macro _arrived_types() -%}
    {%- set integer = {'to': 'cast({} as bigint)', 'from': 'cast({} as bigint)'} -%}
    {{ return({
        'tinyint': integer, 'smallint': integer, 'int': integer, 'bigint': integer,
        'date': {'to': 'cast(unix_date({}) as bigint)', 'from': 'date_from_unix_date({})'},
        'timestamp': {'to': 'unix_micros({})', 'from': 'timestamp_micros({})'},
    }) }}
{%- endmacro %}


{#- The type of the column `_arrived` among the columns of the commands; none if they have none. -#}
{% macro _arrived_type(columns) -%}
    {%- set column = columns | selectattr('name', 'eq', '_arrived') | first -%}
    {%- if not column -%}
        {{ return(none) }}
    {%- elif column.type not in trueup._arrived_types() -%}
        {%- do trueup._raise_error(
            trueup._argument('commands', 'arrived'),
            'an expression of one of these types: ' ~ (trueup._arrived_types() | join(', ')), column.type
        ) -%}
    {%- endif -%}
    {{ return(column.type) }}
{%- endmacro %}


{#- A value of `_arrived` as a bigint. -#}
{% macro _arrived_number_expr(value, type) -%}
    {{ return(trueup._arrived_types()[type].to.replace('{}', value)) }}
{%- endmacro %}


{#- A number that `_arrived_number_expr` gave, as a value of the type. -#}
{% macro _arrived_value_expr(number, type) -%}
    {{ return(trueup._arrived_types()[type].from.replace('{}', number | string)) }}
{%- endmacro %}
