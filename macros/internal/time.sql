{#-
    A date as a moment: its midnight in UTC, whatever the time zone of the session. Spark's cast would take
    midnight in the session's zone. Then the same row would have another meaning and another digest in
    another session.
-#}

{#-
    A date or a timestamp as microseconds since 1970 in UTC, as an SQL expression. Spark knows the type when
    it plans the query, so it removes the casts and the condition.
-#}
{% macro _utc_micros_expr(value) -%}
    {{ return(
        'case when typeof(' ~ value ~ ") = 'date' then unix_date(cast(" ~ value
        ~ ' as date)) * 86400000000 else unix_micros(cast(' ~ value ~ ' as timestamp_ltz)) end'
    ) }}
{%- endmacro %}


{#- A date or a timestamp as a timestamp, as an SQL expression. -#}
{% macro _utc_timestamp_expr(value) -%}
    {{ return('timestamp_micros(' ~ trueup._utc_micros_expr(value) ~ ')') }}
{%- endmacro %}


{#- The milliseconds since 1970 of a time with a zone. -#}
{% macro _milliseconds(time) -%}
    {{ return((time.timestamp() * 1000) | int) }}
{%- endmacro %}
