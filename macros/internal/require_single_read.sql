{#-
    Raises if Spark copies a CTE to each place that uses it, in statements that write. The batch
    needs one CTE that is computed once. With copies, the updates and the certificate would each
    read the log, perhaps at different moments.
-#}
{% macro _require_single_read() -%}
    {%- set setting = 'spark.sql.legacy.inlineCTEInCommands' -%}
    {%- if run_query('set ' ~ setting).rows[0][1] | string | lower == 'true' -%}
        {%- do trueup._raise_error(
            'The Spark setting `' ~ setting ~ '`', 'false, because the steps of a batch are read once',
            'true', 'Leave it out of the profile, the hooks and the configuration of Spark.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
