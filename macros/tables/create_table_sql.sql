{#-
    `create table ... as` in the table format of the model's config `file_format` (default iceberg). It sets
    properties that make small MERGEs cheap, and properties that the protocol relies on. The config's
    `tblproperties` come last, but may not weaken the protocol. `own_properties` are those of this table alone, such
    as how it was made.
-#}
{% macro _create_table_sql(relation, select, replace=false, partition_by=none, own_properties=none) -%}
    {%- set file_format = trueup._file_format() -%}
    {%- set properties = trueup._table_properties()[file_format] -%}
    {%- do properties.update(own_properties or {}) -%}
    {%- do properties.update(trueup._given_properties()) -%}
{{ trueup._step_marker('create') }}
create {{ 'or replace table' if replace else 'table if not exists' }} {{ relation }}
using {{ file_format }}
{% if partition_by -%}
partitioned by ({{ partition_by }})
{% endif -%}
tblproperties ({{ trueup._property_list(properties) }}
)
as
{{ select }}
{%- endmacro %}


{#- The statement that sets properties of a table. -#}
{% macro _set_properties_sql(relation, properties) -%}
{{ trueup._step_marker('alter') }}
alter table {{ relation }} set tblproperties ({{ trueup._property_list(properties) }}
)
{%- endmacro %}


{#- Table properties as a list for `tblproperties (...)`. -#}
{% macro _property_list(properties) -%}
    {%- for name, value in properties.items() %}
    {{ trueup._literal(name) }} = {{ trueup._literal(value) }}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{#- The table format of the model: its config `file_format`. Raises if trueup does not support it. -#}
{% macro _file_format() -%}
    {%- set file_format = config.get('file_format') or 'iceberg' -%}
    {%- set formats = trueup._table_properties() -%}
    {%- if file_format not in formats -%}
        {%- do trueup._raise_error(
            'Config `file_format` of ' ~ model.name,
            'a table format with MERGE: ' ~ (formats | join(', ')), file_format,
            'Set `+file_format` of the collection in dbt_project.yml.'
        ) -%}
    {%- endif -%}
    {{ return(file_format) }}
{%- endmacro %}
