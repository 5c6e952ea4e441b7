{#-
    Refresh schedules: the ticks at which a collection by a select changes. `every` refreshes at
    `aligned_to` plus every multiple of an interval, before and after it. `at` refreshes at single ticks.
    Both may be given, and `every` more than once.

    A schedule is a dict: `every`, a list of `interval` and `aligned_to`, and `at`, a list of ticks.
-#}

{#- The option `refresh` as a schedule. -#}
{% macro _schedule(refresh) -%}
    {%- do trueup._require_keys(refresh, ['every', 'aligned_to', 'at'], 'a schedule') -%}
    {%- set given = refresh.get('every') -%}
    {%- set given = [] if given is none else given -%}
    {%- if given is string or given is not iterable -%}
        {%- set given = [{'interval': given, 'aligned_to': refresh.get('aligned_to', 0)}] -%}
    {%- elif 'aligned_to' in refresh -%}
        {%- do trueup._raise_option_error(
            'refresh', 'a schedule whose `aligned_to` is beside the interval it belongs to: in a list, each'
            ~ ' interval has its own', refresh
        ) -%}
    {%- endif -%}
    {%- set schedule = {'every': [], 'at': []} -%}
    {%- for each in given -%}
        {%- do trueup._require_keys(each, ['interval', 'aligned_to'], 'a schedule, each of `every`') -%}
        {%- do schedule.every.append({
            'interval': trueup._interval_ticks(each.get('interval')),
            'aligned_to': trueup._point_tick(each.get('aligned_to', 0), '`aligned_to`'),
        }) -%}
    {%- endfor -%}
    {%- set points = refresh.get('at', []) -%}
    {%- if points is string or points is mapping or points is not iterable -%}
        {%- do trueup._raise_option_error('refresh', 'a schedule whose `at` is a list', points) -%}
    {%- endif -%}
    {%- for point in points -%}
        {%- do schedule.at.append(trueup._point_tick(point, '`at`')) -%}
    {%- endfor -%}
    {%- if not (schedule.every or schedule.at) -%}
        {%- do trueup._raise_option_error('refresh', 'a schedule with `every` or `at`', refresh) -%}
    {%- endif -%}
    {{ return(schedule) }}
{%- endmacro %}


{#- Raises for anything except a mapping of these keys. -#}
{% macro _require_keys(given, allowed, what) -%}
    {%- if given is not mapping or given.keys() | reject('in', allowed) | list -%}
        {%- do trueup._raise_option_error(
            'refresh', what ~ ': a mapping of ' ~ (allowed | join(', ')), given
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- An interval in ticks: an integer, or a text of milliseconds, such as `90 minutes`. -#}
{% macro _interval_ticks(interval) -%}
    {%- set ticks = interval if interval is integer else trueup._interval_milliseconds(interval) -%}
    {%- if ticks is none or ticks < 1 -%}
        {%- do trueup._raise_option_error(
            'refresh',
            'a schedule whose interval is a positive number of ticks, or a text such as `1 hour` (in '
            ~ (trueup._interval_units() | join('s, ')) ~ 's)', interval
        ) -%}
    {%- endif -%}
    {{ return(ticks) }}
{%- endmacro %}


{#- A tick: an integer, or a time in ISO 8601 as milliseconds. A time without a zone is in UTC. -#}
{% macro _point_tick(point, what) -%}
    {%- if trueup._is_bigint(point) -%}
        {{ return(point) }}
    {%- endif -%}
    {#- YAML reads a time without quotes as a time. -#}
    {%- set text = (point | string).strip() -%}
    {%- set day = '(?!0000)(\\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])' -%}
    {%- set zone = '(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)?' -%}
    {%- set seconds = '(:[0-5]\\d([.]\\d{3}(\\d{3})?)?)?' -%}
    {%- set time = '([ T]([01]\\d|2[0-3]):[0-5]\\d' ~ seconds ~ zone ~ ')?' -%}
    {%- set found = modules.re.match('^' ~ day ~ time ~ '$', text) -%}
    {%- if not found or found.group(3) | int > trueup._last_day(found.group(1), found.group(2)) -%}
        {%- do trueup._raise_option_error(
            'refresh',
            'a schedule whose ' ~ what ~ ' is an integer, or a time such as 2026-01-31 04:00:00',
            point
        ) -%}
    {%- endif -%}
    {%- set text = text.replace('Z', '+00:00') -%}
    {%- set moment = modules.datetime.datetime.fromisoformat(text) -%}
    {%- if moment.tzinfo is none -%}
        {%- set moment = moment.replace(tzinfo=modules.pytz.utc) -%}
    {%- endif -%}
    {{ return(trueup._milliseconds(moment)) }}
{%- endmacro %}


{#- The last day of a month. -#}
{% macro _last_day(year, month) -%}
    {%- set year = year | int -%}
    {%- set is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) -%}
    {{ return({'02': 29 if is_leap else 28, '04': 30, '06': 30, '09': 30, '11': 30}.get(month, 31)) }}
{%- endmacro %}
