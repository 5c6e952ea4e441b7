{#-
    A select of the commands of a log: the body of a model with the materialization `trueup`. See the YAML
    beside this file.

    The arguments after `keys` are the AUTO CDC names of the arguments before it.
-#}
{% macro commands(
    relation, ts=none, sequence_by=none, delete_when=none, truncate_when=none,
    columns=none, except_columns=none, error=none, error_key=none,
    ignore_null_updates=none, unchanged_value=none, unchanged=none, old_key=none, skip_when=none, snapshot=none,
    reclock=none,
    keys=none,
    apply_as_deletes=none, apply_as_truncates=none,
    column_list=none, except_column_list=none,
    ignore_null_updates_column_list=none, ignore_null_updates_except_column_list=none
) -%}
    {%- do trueup._require_known_arguments('commands', kwargs) -%}
{{ trueup._commands_select(dict(
    snapshot=snapshot, relation=relation, ts=ts, sequence_by=sequence_by, error=error, error_key=error_key,
    unchanged=unchanged, unchanged_value=unchanged_value, old_key=old_key, skip_when=skip_when, reclock=reclock,
    delete_when=trueup._given_value('delete_when', delete_when, 'apply_as_deletes', apply_as_deletes),
    truncate_when=trueup._given_value('truncate_when', truncate_when, 'apply_as_truncates', apply_as_truncates),
    columns=trueup._given_value('columns', columns, 'column_list', column_list),
    except_columns=trueup._given_value('except_columns', except_columns, 'except_column_list', except_column_list),
    ignored_nulls=trueup._ignored_nulls(
        ignore_null_updates, ignore_null_updates_column_list, ignore_null_updates_except_column_list
    ),
), keys) }}
{%- endmacro %}
