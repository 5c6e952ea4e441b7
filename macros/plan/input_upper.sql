{#-
    The value of the option `input_upper` as a literal, if the option reads tables; else none.

    Such a value may be the word of a source that its log is complete up to there. So it is read before the part
    of the log that the batch takes is fixed: that part has everything that was promised. `part` is the part of
    the log as it is now, from which `log_upper` comes. The value has a statement of its own: beside a part of
    an Iceberg table, Spark would take this part for the whole table, in a subquery, too.
-#}
{% macro _get_input_upper(collection, progress, part) -%}
    {%- set given = collection.options.get('input_upper') -%}
    {%- if 'select' not in given | string | lower or '_offset' in collection.extras -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set log_upper = run_query(
        'select ' ~ trueup._log_upper_expr(part, progress.lower) ~ ' from ' ~ part.commands
    ).rows[0][0] -%}
    {%- set upper = run_query(
        'select ' ~ trueup._input_upper_expr(given)
        ~ ' from (select cast(' ~ trueup._number_or_null(log_upper) ~ ' as bigint) as log_upper)'
    ).rows[0][0] -%}
    {{ return('cast(' ~ trueup._number_or_null(upper) ~ ' as bigint)') }}
{%- endmacro %}


{#- The option `input_upper` as an SQL expression of a tick. It may read the name `log_upper`. -#}
{% macro _input_upper_expr(given) -%}
    {{ return(trueup._tick_expr('(' ~ given ~ ')', 'Option `input_upper`')) }}
{%- endmacro %}


{#-
    The tick after the last command of a part of the log, as an SQL expression. There is no tick beyond the greatest
    bigint: `_require_bounded_ticks` refuses it. If nothing is new, the part is empty, but the log is not: it
    ends at or below the `lower`.
-#}
{% macro _log_upper_expr(part, lower) -%}
    {%- set upper = 'try_add(max(_ts), 1)' -%}
    {{ return('coalesce(' ~ upper ~ ', cast(' ~ lower ~ ' as bigint))' if part.get('settled') else upper) }}
{%- endmacro %}
