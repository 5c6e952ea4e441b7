{#- Raises unless the log has the key columns, and has each column that a macro adds only once. -#}
{% macro _require_log_columns(commands, unique_key) -%}
    {%- set log = commands.split(trueup._log_boundary())[0] ~ ' select * from log' -%}
    {%- set found = trueup._get_columns(trueup._step_marker('check') ~ log) | map(attribute='name') | list -%}
    {%- set lower_case = found | map('lower') | list -%}
    {%- for name in unique_key if name | lower not in lower_case -%}
        {%- do trueup._raise_error(
            '`trueup.commands` in ' ~ model.name ~ ': each column of config `unique_key`',
            'a column of the log (' ~ (found | join(', ')) ~ ')', name,
            trueup._config_next_step()
        ) -%}
    {%- endfor -%}
    {#- Only this check can find it: the macro adds its columns without knowing those of the log. -#}
    {%- for name in ['snapshot_ts', 'is_absent'] if lower_case.count(name) > 1 -%}
        {%- do trueup._raise_error(
            trueup._argument('snapshot_commands', 'relation') ~ ' in ' ~ model.name,
            'without columns of the names that it adds, snapshot_ts and is_absent', name,
            'Rename it in the relation.'
        ) -%}
    {%- endfor -%}
{%- endmacro %}
