{#-
    The checked value of a var of trueup: a tick for `trueup_until`, a plan for `trueup_approve`, false or true for
    every other var.
-#}
{% macro _var(name) -%}
    {%- set defaults = {
        'trueup_until': none, 'trueup_approve': none, 'trueup_adopt': none, 'trueup_stalled_after': 3600
    } -%}
    {%- set value = trueup._given_var(name, defaults.get(name, false)) -%}
    {%- if name == 'trueup_until' -%}
        {%- set must = none if value is none or trueup._is_bigint(value)
            else 'an integer, or null for no limit' -%}
    {%- elif name == 'trueup_approve' -%}
        {%- set must = none if value is none or value is string
            else 'the name of a plan, such as plan-0123456789abcdef, or `orders`' -%}
    {%- elif name == 'trueup_stalled_after' -%}
        {%- set must = none if trueup._is_bigint(value) and value > 0 else 'a number of seconds above 0' -%}
    {%- elif name == 'trueup_adopt' -%}
        {%- set must = none if value is none or value is string and value.count('.') == 1
            else 'a table with its schema, such as shop.orders_before_trueup' -%}
    {%- else -%}
        {%- set must = none if value is boolean else 'true or false' -%}
    {%- endif -%}
    {%- if must -%}
        {%- do trueup._raise_error(
            'Var `' ~ name ~ '`', must, value, 'Correct it in --vars, or in `vars` of dbt_project.yml.'
        ) -%}
    {%- endif -%}
    {{ return(value) }}
{%- endmacro %}


{#-
    The value of a var as it is given, or the default. dbt gives a var below `vars: trueup:` to the models of the
    package alone, and not to those of the project and to its hooks.
-#}
{% macro _given_var(name, default) -%}
    {%- set of_package = var('trueup', {}) -%}
    {{ return(var(name, of_package.get(name, default) if of_package is mapping else default)) }}
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
