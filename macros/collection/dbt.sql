{#-
    Raises if dbt gives a model only some of the rows: `--empty` and `--sample` put a filter into each `ref`
    and `source`. A row that is filtered out would look like a deleted row, and the next batch would retract
    it. Commands that only compile are allowed.
-#}
{% macro _require_whole_run() -%}
    {%- if execute and flags.WHICH in ['run', 'build'] -%}
        {%- for name in ['empty', 'sample'] if invocation_args_dict.get(name) -%}
            {%- do trueup._raise_error(
                'A run of ' ~ model.name, 'one over all rows, because rows that are left out look deleted',
                'the flag --' ~ name,
                "Nothing is done. Leave the flag out, or exclude the collection; for a dry run set --vars"
                ~ " '{trueup_read_only: true}'."
            ) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}


{#-
    dbt's line for the model says what a run did. People read the message. Programs, such as `trueup watch`,
    read the code, which is `adapter_response.code` in dbt's run results:

        OK      the model wrote something, or a dry run has shown what it would write
        NOOP    there was nothing to do
-#}

{#- Ends a materialization that has written nothing, and reports the reason. -#}
{% macro _report_idle(message, code='NOOP') -%}
    {%- call noop_statement('main', message, code=code, rows_affected=none) -%}
        -- {{ message }}
    {%- endcall -%}
{%- endmacro %}


{#- Writes what a run did into dbt's line for the model, in place of a bare OK. -#}
{% macro _report_result(message, code='OK', rows_affected=none) -%}
    {%- do store_raw_result('main', message=message, code=code, rows_affected=rows_affected) -%}
{%- endmacro %}


{#- Writes a result into dbt's line: a dict with `message` and `code`, and `rows_affected` if rows are counted. -#}
{% macro _report_outcome(result) -%}
    {%- if result.code == 'OK' -%}
        {%- do trueup._report_result(result.message, rows_affected=result.get('rows_affected')) -%}
    {%- else -%}
        {%- do trueup._report_idle(result.message, code=result.code) -%}
    {%- endif -%}
{%- endmacro %}


{#- The milliseconds since 1970 of a time with a zone. -#}
{% macro _milliseconds(time) -%}
    {{ return((time.timestamp() * 1000) | int) }}
{%- endmacro %}
