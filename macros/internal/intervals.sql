{#- Times such as `30 days`, in options and in properties of Delta. -#}

{#-
    The option `tombstones` in ticks: an integer, or a text such as `30 days`. A tick that is a timestamp is a
    microsecond.
-#}
{% macro _tombstone_ticks(age) -%}
    {%- set milliseconds = none if age is integer else trueup._interval_milliseconds(age) -%}
    {%- set ticks = age if age is integer else milliseconds and milliseconds * 1000 -%}
    {%- if ticks is none or not trueup._is_bigint(ticks) or ticks < 1 -%}
        {%- do trueup._raise_option_error(
            'tombstones',
            'forever, a positive number of ticks, or if the ticks are timestamps a text such as `30 days` (in '
            ~ (trueup._interval_units() | join('s, ')) ~ 's)', age
        ) -%}
    {%- endif -%}
    {{ return(ticks) }}
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
