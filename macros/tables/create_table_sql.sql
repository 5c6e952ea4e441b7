{#-
    `create table ... as` in the table format of the model's config `file_format` (default iceberg),
    with the properties that make small MERGEs cheap and those that the protocol relies on;
    `tblproperties` of the config come last, but may not weaken the latter. The changelog keeps what it
    was made with in `own_properties`.
-#}
{% macro create_table_sql(relation, select, replace=false, partition_by=none, own_properties=none) -%}
    {%- set file_format = trueup._file_format() -%}
    {%- set properties = trueup._table_properties()[file_format] -%}
    {%- do properties.update(own_properties or {}) -%}
    {%- do properties.update(trueup._given_properties()) -%}
{{ trueup._mark('create') }}
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


{% macro set_properties_sql(relation, properties) -%}
alter table {{ relation }} set tblproperties ({{ trueup._property_list(properties) }}
)
{%- endmacro %}


{% macro _property_list(properties) -%}
    {%- for name, value in properties.items() %}
    {{ trueup._literal(name) }} = {{ trueup._literal(value) }}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{#-
    The table formats that trueup writes: those with MERGE, each with its table properties. A large
    MERGE leaves the rows of a file sorted by key: of small row groups a run can pass over most.
-#}
{% macro _table_properties() -%}
    {{ return({
        'iceberg': {
            'format-version': '3',
            'write.delete.mode': 'merge-on-read',
            'write.update.mode': 'merge-on-read',
            'write.merge.mode': 'merge-on-read',
            'write.delete.isolation-level': 'serializable',
            'write.update.isolation-level': 'serializable',
            'write.merge.isolation-level': 'serializable',
            'write.metadata.delete-after-commit.enabled': 'true',
            'write.metadata.previous-versions-max': '20',
            'write.parquet.row-group-size-bytes': '16777216',
        },
        'delta': {
            'delta.enableDeletionVectors': 'true', 'delta.isolationLevel': 'Serializable',
        },
    }) }}
{%- endmacro %}


{#- The config `tblproperties`; raises where it would weaken the protocol, or claim what we keep. -#}
{% macro _given_properties() -%}
    {%- set given = config.get('tblproperties') or {} -%}
    {%- set subject = 'Config `tblproperties` of ' ~ model.name -%}
    {%- do trueup._require_isolation(subject, given, 'Leave the property out.') -%}
    {%- for name in given if name.startswith('trueup.') -%}
        {%- do trueup._refuse(subject, 'without the properties of trueup itself', name) -%}
    {%- endfor -%}
    {{ return(given) }}
{%- endmacro %}


{#-
    Raises where properties of a table let a run commit what it would lose to another one: below
    `serializable`, two appends of one batch need not conflict.
-#}
{% macro _require_isolation(subject, properties, next_step) -%}
    {%- for name, value in properties.items() -%}
        {%- set is_isolation = name | lower in [
            'write.delete.isolation-level', 'write.update.isolation-level',
            'write.merge.isolation-level', 'delta.isolationlevel'
        ] -%}
        {%- if is_isolation and value | string | lower != 'serializable' -%}
            {%- do trueup._refuse(
                subject, 'with the isolation level serializable, which two runs at once rely on',
                name ~ ' = ' ~ value, next_step
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{% macro _file_format() -%}
    {%- set file_format = config.get('file_format') or 'iceberg' -%}
    {%- set formats = trueup._table_properties() -%}
    {%- if file_format not in formats -%}
        {%- do trueup._refuse(
            'Config `file_format` of ' ~ model.name,
            'a table format with MERGE: ' ~ (formats | join(', ')), file_format
        ) -%}
    {%- endif -%}
    {{ return(file_format) }}
{%- endmacro %}
