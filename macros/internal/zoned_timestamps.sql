{#-
    In a session with `spark.sql.timestampType` TIMESTAMP_NTZ the type `timestamp` has no time zone. A value that goes
    through such a type may come back an hour later, when clocks are turned back. So no run writes there.
-#}

{#- Raises if the type `timestamp` of the session has no time zone. It asks Spark, so it runs only before a table is made. -#}
{% macro _require_zoned_timestamps() -%}
    {%- set kind = trueup._get_setting('spark.sql.timestampType') -%}
    {%- if kind | upper == 'TIMESTAMP_NTZ' -%}
        {%- do trueup._raise_error(
            'The Spark setting `spark.sql.timestampType`', 'TIMESTAMP_LTZ', kind,
            'Leave it out of the profile, the hooks and the configuration of Spark.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The same check without a statement of its own: the time, or an error. -#}
{% macro _zoned_now_expr() -%}
if(
        typeof(cast(null as timestamp)) = 'timestamp',
        current_timestamp(),
        raise_error('The Spark setting `spark.sql.timestampType` must be TIMESTAMP_LTZ.')
    )
{%- endmacro %}
