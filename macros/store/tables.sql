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


{#- Table properties as a list for `tblproperties (...)`. -#}
{% macro _property_list(properties) -%}
    {%- for name, value in properties.items() %}
    {{ trueup._literal(name) }} = {{ trueup._literal(value) }}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{#-
    The config `tblproperties`. Raises if it would weaken the protocol, or set a property that trueup keeps.
-#}
{% macro _given_properties() -%}
    {%- set given = config.get('tblproperties') or {} -%}
    {%- set subject = 'Config `tblproperties` of ' ~ model.name -%}
    {%- do trueup._require_serializable(subject, given, 'Leave the property out.') -%}
    {%- for name in given if name.startswith('trueup.') -%}
        {%- do trueup._raise_error(
            subject, 'without the properties of trueup itself', name, 'Leave the property out.'
        ) -%}
    {%- endfor -%}
    {{ return(given) }}
{%- endmacro %}


{#- The isolation level of the tables, on which two runs at once rely. -#}

{#-
    Raises if the properties of a table would let a run commit after it has lost to another run: below
    `serializable`, two appends of one batch may not conflict.
-#}
{% macro _require_serializable(subject, properties, next_step) -%}
    {%- for name in trueup._weak_isolations(properties) -%}
        {%- do trueup._raise_error(
            subject, 'with the isolation level serializable, which two runs at once rely on',
            name ~ ' = ' ~ properties[name], next_step
        ) -%}
    {%- endfor -%}
{%- endmacro %}


{#- The names of the properties that weaken the isolation of a table. -#}
{% macro _weak_isolations(properties) -%}
    {%- set weak = [] -%}
    {%- for name, value in properties.items() -%}
        {%- set is_isolation = name | lower in [
            'write.delete.isolation-level', 'write.update.isolation-level',
            'write.merge.isolation-level', 'delta.isolationlevel'
        ] -%}
        {%- if is_isolation and value | string | lower != 'serializable' -%}
            {%- do weak.append(name) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(weak) }}
{%- endmacro %}


{#- The properties of a table. Raises unless they isolate the table as the protocol needs it. -#}
{% macro _get_isolated_properties(relation) -%}
    {%- set properties = trueup._get_properties(relation) -%}
    {%- do trueup._require_serializable(
        'The table ' ~ relation, properties,
        'Set it back: alter table ' ~ relation ~ " set tblproperties ('<the property>' ="
        ~ " 'serializable')."
    ) -%}
    {{ return(properties) }}
{%- endmacro %}
