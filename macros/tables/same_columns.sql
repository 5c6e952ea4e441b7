{#-
    Whether two tables have the same key and value columns. Another run may change them at any moment. So
    the statement that writes makes the check itself, when Spark plans it. Without the check a MERGE would
    silently cast a date in the time zone of the session.
-#}

{#-
    A condition: true if two tables have the same key and value columns, else it raises. It does not compare
    the columns `left_but` of the left table and `right_but` of the right table.
-#}
{% macro _same_columns_expr(left, right, left_but, right_but) -%}
case
        when {{ trueup._column_types_expr(left, left_but) }}
            = {{ trueup._column_types_expr(right, right_but) }} then true
        else raise_error({{ trueup._literal(trueup._columns_moved_message(right)) }})
    end
{%- endmacro %}


{#- The same condition for the key and value columns of a changelog and its state. -#}
{% macro _state_fits_expr(collection) -%}
    {{ return(trueup._same_columns_expr(
        collection.changelog, collection.state, trueup._update_columns(), trueup._state_columns()
    )) }}
{%- endmacro %}


{#-
    A condition: true if a changelog has the key and value columns `columns`, which this run knows, else it raises. A
    select that names the known columns would leave out one that another run adds.
-#}
{% macro _has_known_columns_expr(changelog, columns) -%}
    {%- set terms = [] -%}
    {%- set errors = [{'name': '_error', 'type': 'string'}, {'name': '_error_key', 'type': 'string'}] -%}
    {%- for column in columns + errors -%}
        {%- do terms.append(
            'cast(null as ' ~ trueup._sql_type(column.type) ~ ') as ' ~ trueup._quoted(column.name)
        ) -%}
    {%- endfor -%}
case
        when {{ trueup._column_types_expr(changelog, trueup._update_columns()) }}
            = {{ trueup._sorted_types_expr('struct(' ~ (terms | join(', ')) ~ ')') }} then true
        else raise_error({{ trueup._literal(trueup._columns_moved_message(changelog)) }})
    end
{%- endmacro %}


{#- The names and types of the fields of a struct, as an SQL expression: a sorted array. -#}
{% macro _sorted_types_expr(fields) -%}
array_sort(split(substr(typeof({{ fields }}), 8), '[,>]'))
{%- endmacro %}


{#- The names and types of the columns of a table, as an SQL expression: a sorted array. -#}
{% macro _column_types_expr(relation, but) -%}
(
            select {{ trueup._sorted_types_expr('struct(asked.*)') }}
            from (values (0)) as once
            left join (
                select {{ trueup._all_but_list(but) }} from {{ relation }}
            ) as asked on false
        )
{%- endmacro %}


{#-
    A column, as an expression that raises if another run has made a timestamp of the date `name`, or a date of
    the timestamp. `type` is the type that this run knows. Without the check Spark would cast one of them in the
    time zone of the session, wherever two relations meet. Other types that can meet keep their values.
-#}
{% macro _of_known_type_expr(name, type, relation) -%}
    {%- if type not in ['date', 'timestamp'] -%}
        {{ return(name) }}
    {%- endif -%}
    {{ return(
        'case when typeof(' ~ name ~ ") = '" ~ type ~ "' then cast(" ~ name ~ ' as ' ~ type ~ ') else raise_error('
        ~ trueup._literal(trueup._columns_moved_message(relation)) ~ ') end'
    ) }}
{%- endmacro %}


{#- The message for a run that finds columns which another run is changing. -#}
{% macro _columns_moved_message(table) -%}
    {{ return(
        'columns moved: another run changes the columns of ' ~ table
        ~ ' at the same moment; nothing is written, run again'
    ) }}
{%- endmacro %}
