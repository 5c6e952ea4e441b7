{#-
    The table formats that trueup supports: those with MERGE, each with its table properties. A large MERGE
    leaves the rows of a file sorted by key. With small row groups a run can skip most of them.
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
            'commit.manifest.min-count-to-merge': '10',
            'write.parquet.row-group-size-bytes': '16777216',
        },
        'delta': {
            'delta.enableDeletionVectors': 'true', 'delta.isolationLevel': 'Serializable',
        },
    }) }}
{%- endmacro %}


{#-
    Further properties of a staged batch of so many changes. By default one task reads up to 16 MB of an Iceberg table,
    and two million updates may be that small. With these properties it reads 4 MB. A batch of more changes has enough
    tasks anyway, and each task of the append may write a file.
-#}
{% macro _batch_properties(change_count) -%}
    {{ return({
        'read.split.target-size': '4194304', 'read.split.open-file-cost': '262144',
    } if trueup._file_format() == 'iceberg' and change_count <= 5000000 else {}) }}
{%- endmacro %}


{#-
    Further properties of a changelog or a state with many value columns. By default Delta keeps the ranges of the
    first 32 fields of a file, and Iceberg of the first 100 columns. trueup's own columns come after the values.
    Without their ranges a run would open every file to find the new batches. The limits here are lower, to leave room
    for them.
-#}
{% macro _range_properties(unique_key, columns) -%}
    {#- A type writes each field of a struct with a colon. -#}
    {%- set types = columns | map(attribute='type') | join -%}
    {%- set field_count = unique_key | length + columns | length + types.count(':') -%}
    {%- if trueup._file_format() == 'delta' and field_count > 20 -%}
        {{ return({'delta.dataSkippingNumIndexedCols': field_count + 12}) }}
    {%- elif trueup._file_format() == 'iceberg' and field_count > 80 -%}
        {{ return({
            'write.metadata.metrics.column._ts': 'full',
            'write.metadata.metrics.column._kind': 'full',
            'write.metadata.metrics.column._seq': 'full',
        }) }}
    {%- endif -%}
    {{ return({}) }}
{%- endmacro %}


{#-
    The properties that only a changelog has. It is partitioned by `_kind`, so Iceberg would send all updates of a
    batch to one task. A compaction may then delete rows of a file in two tasks: Iceberg 1.12 joins what they
    have deleted.
-#}
{% macro _changelog_properties(collection) -%}
    {%- set properties = {} -%}
    {%- do properties.update(trueup._made_with_properties(
        'trueup.unique_key', trueup._column_list(collection.unique_key)
    )) -%}
    {%- do properties.update(trueup._made_with_properties('trueup.order', collection.order_type)) -%}
    {%- do properties.update(trueup._range_properties(collection.unique_key, collection.command_columns)) -%}
    {%- if trueup._file_format() == 'iceberg' -%}
        {%- do properties.update({'write.merge.distribution-mode': 'none'}) -%}
    {%- endif -%}
    {{ return(properties) }}
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
