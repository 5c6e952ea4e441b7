{#- What the doctor checks of the session and of the properties of the tables. Each macro returns a list of checks. -#}

{#- Settings that isolate two runs from each other. -#}
{% macro _get_setting_checks(tables) -%}
    {%- set checks, deltas = [], [] -%}
    {%- for role in ['changelog', 'state'] if tables[role] -%}
        {%- set properties = trueup._get_properties(tables[role]) -%}
        {%- do deltas.append(trueup._is_delta(properties)) -%}
        {%- for weak in trueup._weak_isolations(properties) -%}
            {%- do checks.append(trueup._check_result(
                'the property ' ~ weak ~ ' of ' ~ tables[role] ~ ' lets two runs write at once',
                'alter table ' ~ tables[role] ~ " set tblproperties ('" ~ weak ~ "' = 'serializable')."
            )) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if trueup._get_are_ctes_inlined() -%}
        {%- do checks.append(trueup._check_result(
            'the Spark setting spark.sql.legacy.inlineCTEInCommands is true, so a batch would be read twice',
            'leave the setting out of the profile, the hooks and the configuration of Spark.'
        )) -%}
    {%- endif -%}
    {%- if trueup._get_lacks_time_zones() -%}
        {%- do checks.append(trueup._check_result(
            'the Spark setting spark.sql.timestampType is TIMESTAMP_NTZ, so no run writes',
            'leave the setting out of the profile, the hooks and the configuration of Spark.'
        )) -%}
    {%- endif -%}
    {%- set cached = none if true in deltas else trueup._get_cached_catalog() -%}
    {%- if cached -%}
        {%- do checks.append(trueup._check_result(
            'the catalog ' ~ cached ~ ' caches its tables, so a run may read old versions of them: it then finds no'
            ~ ' new commands, or every append fails',
            'set spark.sql.catalog.' ~ cached ~ '.cache-enabled to false in the profile (`server_side_parameters`),'
            ~ ' and restart the session or the server.'
        )) -%}
    {%- endif -%}
    {%- if true in deltas and trueup._get_adds_columns() -%}
        {%- do checks.append(trueup._check_result(
            'the Spark setting spark.databricks.delta.schema.autoMerge.enabled is true, so an apply would add'
            ~ ' columns to the state',
            'set it to false in the profile (`server_side_parameters`), or leave it out.'
        )) -%}
    {%- endif -%}
    {{ return(checks or [trueup._check_result('the tables and the session isolate two runs from each other')]) }}
{%- endmacro %}


{#- The current catalog if it is one of Iceberg that caches its tables, else none. -#}
{% macro _get_cached_catalog() -%}
    {%- set name = run_query('select current_catalog()').rows[0][0] -%}
    {%- set class, is_cached = trueup._get_setting('spark.sql.catalog.' ~ name),
        trueup._get_setting('spark.sql.catalog.' ~ name ~ '.cache-enabled') -%}
    {{ return(name if class.startswith('org.apache.iceberg.spark.') and is_cached | lower != 'false' else none) }}
{%- endmacro %}
