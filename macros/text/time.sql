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


{#- The milliseconds since 1970 of a time with a zone. -#}
{% macro _milliseconds(time) -%}
    {{ return((time.timestamp() * 1000) | int) }}
{%- endmacro %}


{#-
    The logical time as a bigint: an integer stays as it is, a timestamp becomes microseconds since 1970.
    The casts let one expression take both types. Spark removes a cast to the same type. So bounds on an
    integer tick are pushed into the scan of the log. Any other type is refused: a cast would silently lose
    a part of it. The cast is to `timestamp_ltz`, so that the view of the commands can be made in a session whose
    `timestamp` has no zone. The run is refused there with a clear error (`_require_zoned_timestamps`).
-#}
{% macro _tick_expr(ts, subject) -%}
case
        when typeof({{ ts }}) in ('tinyint', 'smallint', 'int', 'bigint')
            then cast({{ ts }} as bigint)
        when typeof({{ ts }}) = 'timestamp'
            then unix_micros(cast({{ ts }} as timestamp_ltz))
        else raise_error(concat(
            {{ trueup._literal(subject) }}, ' must be an integer or a timestamp.\nGot: ',
            {{ trueup._literal(ts) }}, ' of type ', typeof({{ ts }}),
            '\nCast it, for example: cast(the_column as timestamp).'
        ))
    end
{%- endmacro %}


{#- A whole number as an SQL expression of the type bigint. The digits of the least bigint alone are none. -#}
{% macro _bigint(number) -%}
    {{ return("bigint('" ~ number ~ "')" if number < 0 else number ~ 'L') }}
{%- endmacro %}


{#- The least bigint. Ticks, offsets and counts are bigints. -#}
{% macro _least_bigint() -%}
    {{ return(-9223372036854775808) }}
{%- endmacro %}


{#- The greatest bigint. No tick may have it, because a batch ends one after its last tick. -#}
{% macro _greatest_bigint() -%}
    {{ return(9223372036854775807) }}
{%- endmacro %}


{#- Whether a value is an integer that fits into a bigint. All ticks must. -#}
{% macro _is_bigint(value) -%}
    {{ return(value is integer and trueup._least_bigint() <= value <= trueup._greatest_bigint()) }}
{%- endmacro %}


{#- Times such as `30 days`, in options and in properties of Delta. -#}

{#-
    The option `tombstones` in ticks; none for forever. Without ticks of the log a tick is a millisecond. A tick of a log that is
    a timestamp is a microsecond.
-#}
{% macro _tombstone_ticks(collection) -%}
    {%- set age = collection.options.tombstones if collection.is_log else 'forever' -%}
    {%- if age == 'forever' or age is integer -%}
        {{ return(none if age == 'forever' else age) }}
    {%- endif -%}
    {{ return(trueup._interval_milliseconds(age) * (1000 if collection.has_ticks else 1)) }}
{%- endmacro %}


{#- The units of an interval, each in milliseconds. -#}
{% macro _interval_units() -%}
    {{ return({
        'millisecond': 1, 'second': 1000, 'minute': 60000, 'hour': 3600000, 'day': 86400000,
        'week': 604800000,
    }) }}
{%- endmacro %}


{#- A text such as `90 minutes` in milliseconds; none for anything else. -#}
{% macro _interval_milliseconds(text) -%}
    {%- set units = trueup._interval_units() -%}
    {%- set found = modules.re.match(
        '^\\s*(\\d+)\\s+(' ~ (units | join('|')) ~ ')s?\\s*$', text | string | lower
    ) -%}
    {{ return(found.group(1) | int * units[found.group(2)] if found else none) }}
{%- endmacro %}
