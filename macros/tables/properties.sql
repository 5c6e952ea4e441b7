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
        {%- do trueup._raise_error(subject, 'without the properties of trueup itself', name) -%}
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
            {%- do trueup._raise_error(
                subject, 'with the isolation level serializable, which two runs at once rely on',
                name ~ ' = ' ~ value, next_step
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- The properties of a table, which say that it is isolated as the protocol needs it; else it raises. -#}
{% macro _get_isolated_properties(relation) -%}
    {%- set properties = {} -%}
    {%- for row in run_query('show tblproperties ' ~ relation).rows -%}
        {%- do properties.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {%- do trueup._require_isolation(
        'The table ' ~ relation, properties,
        'Set it back: alter table ' ~ relation ~ " set tblproperties ('<the property>' ="
        ~ " 'serializable')."
    ) -%}
    {{ return(properties) }}
{%- endmacro %}
