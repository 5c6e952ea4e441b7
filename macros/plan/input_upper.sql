{#-
    The value of the option `input_upper` as a literal, if the option reads tables; else none.

    A source may use such a value to say: my log is complete up to this tick. So it is read before the run fixes
    how far it reads the log: then the log has what was promised. If the option uses `log_upper`, this comes from
    the part of the log as it is now. The value has a statement of its own: beside a part of an Iceberg table, Spark
    would take this part for the whole table, in a subquery, too.

    In a log without ticks (`reclock`) the run itself gives the ticks. There an option that uses `log_upper` stays in
    the statement that reads the log.
-#}
{% macro _ensure_input_upper(collection, progress) -%}
    {%- set given = collection.options.get('input_upper') | string -%}
    {%- set uses_log_upper = 'log_upper' in given | lower -%}
    {%- if not trueup._has_subquery('(' ~ given ~ ')') or ('_offset' in collection.extras and uses_log_upper) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set log_upper = trueup._ensure_log_upper(collection, progress) if uses_log_upper else none -%}
    {%- set upper = run_query(
        'select ' ~ trueup._input_upper_expr(given)
        ~ ' from (select cast(' ~ trueup._number_or_null(log_upper) ~ ' as bigint) as log_upper)'
    ).rows[0][0] -%}
    {{ return('cast(' ~ trueup._number_or_null(upper) ~ ' as bigint)') }}
{%- endmacro %}


{#- The tick after the last command that the log has now; none if it has none. -#}
{% macro _ensure_log_upper(collection, progress) -%}
    {%- set part = trueup._ensure_log_part(collection, progress) -%}
    {{ return(run_query(
        'select ' ~ trueup._log_upper_expr(part, progress.lower) ~ ' from ' ~ part.commands
    ).rows[0][0]) }}
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
