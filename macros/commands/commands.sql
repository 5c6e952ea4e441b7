{#-
    A select of the commands of a log: the body of the model `<collection>_commands`. See the YAML
    beside this file.

    The arguments after `arrived` are the AUTO CDC names of the arguments before it.
-#}
{% macro commands(
    relation, ts=none, sequence_by=none, delete_when=none, truncate_when=none,
    columns=none, except_columns=none, error=none, error_key=none,
    ignore_null_updates=none, unchanged_value=none, unchanged=none, old_key=none, reclock=none,
    arrived=none, skip_when=none, keys=none, apply_as_deletes=none, apply_as_truncates=none,
    column_list=none, except_column_list=none,
    ignore_null_updates_column_list=none, ignore_null_updates_except_column_list=none
) -%}
    {%- do trueup._require_known_arguments('commands', kwargs) -%}
    {%- if trueup._is_one_model() -%}
        {{ return(trueup._commands_of_store(dict(
            relation=relation, sequence_by=sequence_by, error=error, error_key=error_key,
            unchanged=unchanged, unchanged_value=unchanged_value, old_key=old_key, arrived=none,
            delete_when=trueup._given_value('delete_when', delete_when, 'apply_as_deletes', apply_as_deletes),
            truncate_when=trueup._given_value('truncate_when', truncate_when, 'apply_as_truncates', apply_as_truncates),
            columns=trueup._given_value('columns', columns, 'column_list', column_list),
            except_columns=trueup._given_value(
                'except_columns', except_columns, 'except_column_list', except_column_list
            ),
            ignored_nulls=trueup._ignored_nulls(
                ignore_null_updates, ignore_null_updates_column_list, ignore_null_updates_except_column_list
            ),
            ts=ts, reclock=reclock, skip_when=skip_when,
        ), keys)) }}
    {%- endif -%}
    {{- config(materialized='trueup_commands') -}}
    {%- if reclock is not none -%}
        {#- The monitoring models must know it without a query. -#}
        {{- config(meta={'trueup_is_reclocked': true}) -}}
    {%- endif -%}
    {%- if keys is not none -%}
        {%- set subject = trueup._argument('commands', 'keys') -%}
        {%- do trueup._require_list(subject, [keys] if keys is string else keys) -%}
        {{- config(unique_key=keys) -}}
    {%- endif -%}
    {%- set key = trueup._unique_key('commands', keys) -%}
    {%- set given = {
        'relation': relation, 'ts': ts, 'sequence_by': sequence_by, 'reclock': reclock,
        'arrived': arrived,
        'error': error, 'error_key': error_key,
        'unchanged': unchanged, 'unchanged_value': unchanged_value, 'old_key': old_key,
        'delete_when': trueup._given_value(
            'delete_when', delete_when, 'apply_as_deletes', apply_as_deletes
        ),
        'truncate_when': trueup._given_value(
            'truncate_when', truncate_when, 'apply_as_truncates', apply_as_truncates
        ),
        'columns': trueup._given_value('columns', columns, 'column_list', column_list),
        'except_columns': trueup._given_value(
            'except_columns', except_columns, 'except_column_list', except_column_list
        ),
        'ignored_nulls': trueup._ignored_nulls(
            ignore_null_updates, ignore_null_updates_column_list,
            ignore_null_updates_except_column_list
        ),
    } -%}
    {%- do trueup._require_arguments(given, key) -%}
    {%- do given.update(trueup._tick_and_order(ts, sequence_by, reclock)) -%}
{{ trueup._commands_select(given, key) }}
{%- endmacro %}


{#-
    Whether `trueup.commands` stands in a model that is the collection itself, with the materialization `trueup`. While dbt
    parses, and in a unit test, configs are unknown: then the name of the model decides.
-#}
{% macro _is_one_model() -%}
    {%- if model.resource_type == 'unit_test' -%}
        {{ return(model.tested_node_unique_id is defined and not model.tested_node_unique_id.endswith('_commands')) }}
    {%- elif execute -%}
        {{ return(config.get('materialized') == 'trueup') }}
    {%- endif -%}
    {{ return(not model.name.endswith('_commands')) }}
{%- endmacro %}
