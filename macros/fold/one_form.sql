{#-
    A column with one form for each value: of a map or a variant its text. Spark treats 0.0 and -0.0 as equal, and trueup does the
    same. If `given_type`, the type in the `commands`, is narrower, the value is widened to the type of the
    column.
-#}
{% macro _one_form_expr(column, given_type=none, commands=none) -%}
    {%- set name = trueup._quoted(column.name) -%}
    {%- if given_type is not none and trueup._is_kept_as_text(given_type) -%}
        {{ return(trueup._json_text_expr(name, given_type)) }}
    {%- elif given_type is not none -%}
        {%- set name = trueup._of_known_type_expr(name, given_type, commands) -%}
    {%- endif -%}
    {%- if given_type not in [none, column.type] -%}
        {%- set name = 'cast(' ~ name ~ ' as ' ~ trueup._sql_type(column.type) ~ ')' -%}
    {%- endif -%}
    {%- set is_float = column.type in ['float', 'double'] -%}
    {{ return(name ~ ' + cast(0 as ' ~ column.type ~ ')' if is_float else name) }}
{%- endmacro %}


{#- A value of such a type as the text that the store has. An object of a variant has sorted keys. -#}
{% macro _json_text_expr(value, type) -%}
    {{ return(
        'to_json(' ~ (value if type == 'variant' else 'to_variant_object(' ~ value ~ ')') ~ ", map('timeZone', 'UTC'))"
    ) }}
{%- endmacro %}


{#-
    Whether two tables have the same key and value columns. Another run may change them at any moment. So
    the statement that writes makes the check itself, when Spark plans it. Without the check a MERGE would
    silently cast a date in the time zone of the session.
-#}

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
        'columns changed: another run changes the columns of ' ~ table
        ~ ' at the same moment; nothing is written, run again'
    ) }}
{%- endmacro %}
