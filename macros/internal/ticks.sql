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


{#- The least bigint. Ticks, offsets and counts are bigints. -#}
{% macro _least_bigint() -%}
    {{ return(-9223372036854775808) }}
{%- endmacro %}


{#- The greatest bigint. No tick may have it, because a batch ends one after its last tick. -#}
{% macro _greatest_bigint() -%}
    {{ return(9223372036854775807) }}
{%- endmacro %}


{#- The least possible tick. Its digits alone are not a bigint. -#}
{% macro _least_tick_expr() -%}
    {{ return('cast(' ~ trueup._least_bigint() ~ ' as bigint)') }}
{%- endmacro %}


{#- The greatest possible upper, as an SQL expression: all ticks are below it. -#}
{% macro _greatest_upper_expr() -%}
    {{ return('cast(' ~ trueup._greatest_bigint() ~ ' as bigint)') }}
{%- endmacro %}


{#- The first tick of the commands that belong to the collection, as an SQL expression. -#}
{% macro _first_tick_expr(options) -%}
    {{ return(trueup._least_tick_expr() if options.as_of is none else options.as_of) }}
{%- endmacro %}


{#- Whether a value is an integer that fits into a bigint. All ticks must. -#}
{% macro _is_bigint(value) -%}
    {{ return(value is integer and trueup._least_bigint() <= value <= trueup._greatest_bigint()) }}
{%- endmacro %}
