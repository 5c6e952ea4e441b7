{#-
    Raises unless the log has the key columns, and has each column that a macro adds only once. Also raises if an error
    is true or false.
-#}
{% macro _require_log_columns(commands, unique_key) -%}
    {%- set errors = trueup._error_expressions(commands) -%}
    {%- set items = ['*'] -%}
    {%- for argument, expression in errors.items() -%}
        {%- do items.append('(' ~ expression ~ ') as _' ~ argument) -%}
    {%- endfor -%}
    {%- set before = trueup._without_texts(commands).rpartition(trueup._log_boundary())[0] -%}
    {%- set log = commands[:before | length] ~ ' select ' ~ (items | join(', ')) ~ ' from log' -%}
    {%- set columns = trueup._get_columns(trueup._step_marker('check') ~ log) -%}
    {%- set log_count = columns | length - errors | length -%}
    {%- do trueup._require_error_texts(errors, columns[log_count:]) -%}
    {%- set found = columns[:log_count] | map(attribute='name') | list -%}
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


{#-
    The arguments `error` and `error_key` by name, from the SQL of the commands. The materialization cannot get them as
    arguments, and while dbt parses, a `ref` in them does not have its name yet.
-#}
{% macro _error_expressions(commands) -%}
    {%- set sql = trueup._without_texts(commands) -%}
    {%- set found = modules.re.search(
        '(?s) as _op,\n    cast\\((.*?) as string\\) as _error,\n    (?:coalesce\\(\n        )?'
        ~ 'cast\\((.*?) as string\\)(?:,\n        case when `| as _error_key)',
        sql.rpartition(trueup._log_boundary())[2]
    ) -%}
    {%- if not found -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set start = sql | length - found.string | length -%}
    {{ return({
        'error': commands[start + found.start(1):start + found.end(1)],
        'error_key': commands[start + found.start(2):start + found.end(2)],
    }) }}
{%- endmacro %}


{#- Raises if one of the `errors` is a condition. Its text is 'true' or 'false', so every command would be an error. -#}
{% macro _require_error_texts(errors, columns) -%}
    {%- set texts = {
        'error': "case when <the value is bad> then '<what is wrong>' end",
        'error_key': "case when <the key is bad> then concat('x', <its bytes in hex>) end",
    } -%}
    {%- for argument, expression in errors.items() -%}
        {%- if columns[loop.index0].type == 'boolean' -%}
            {%- do trueup._raise_error(
                trueup._argument('commands', argument) ~ ' in ' ~ model.name,
                'a text, null for a good ' ~ ('value' if argument == 'error' else 'key'),
                'the condition ' ~ expression ~ ', with which every command would be an error',
                'Write it as a text: ' ~ texts[argument] ~ '. The view is not made.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}
