{#-
    Raises if Spark copies a CTE to each place that uses it, in statements that write. The batch
    needs one CTE that is computed once. With copies, the updates and the certificate would each
    read the log, perhaps at different moments.
-#}
{% macro _require_single_read() -%}
    {%- if trueup._get_are_ctes_inlined() -%}
        {%- do trueup._raise_error(
            'The Spark setting `spark.sql.legacy.inlineCTEInCommands`',
            'false, because the steps of a batch are read once',
            'true', trueup._setting_next_step()
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Whether the session is set so that Spark copies CTEs in statements that write. Then it would read the steps of a
    batch more than once.
-#}
{% macro _get_are_ctes_inlined() -%}
    {{ return(trueup._get_setting('spark.sql.legacy.inlineCTEInCommands') | lower == 'true') }}
{%- endmacro %}
