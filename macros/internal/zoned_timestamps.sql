{#-
    In a session with `spark.sql.timestampType` TIMESTAMP_NTZ the type `timestamp` has no time zone. A value that goes
    through such a type may come back an hour later, when clocks are turned back. So no run writes there.
-#}

{#-
    Raises if `timestamp` has no time zone in this session. It asks Spark, so it is called only before a table is made
    or changed.
-#}
{% macro _require_zoned_timestamps() -%}
    {%- if trueup._get_lacks_time_zones() -%}
        {%- do trueup._raise_error(
            'The Spark setting `spark.sql.timestampType`', 'TIMESTAMP_LTZ', 'TIMESTAMP_NTZ',
            trueup._setting_next_step()
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Whether `timestamp` has no time zone in this session. -#}
{% macro _get_lacks_time_zones() -%}
    {{ return(trueup._get_setting('spark.sql.timestampType') | upper == 'TIMESTAMP_NTZ') }}
{%- endmacro %}


{#- The same check without a statement of its own: the time, or an error. -#}
{% macro _zoned_now_expr() -%}
if(
        typeof(cast(null as timestamp)) = 'timestamp',
        current_timestamp(),
        raise_error({{ trueup._literal(
            'The Spark setting `spark.sql.timestampType` must be TIMESTAMP_LTZ.\nGot: TIMESTAMP_NTZ\n'
            ~ trueup._setting_next_step()
        ) }})
    )
{%- endmacro %}
