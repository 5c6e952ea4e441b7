{#- Times and ticks. -#}

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
