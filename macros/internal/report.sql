{#-
    What a materialization owes dbt once its table is written: grants and docs. Constraints of a
    contract are left out: a key column is null on the progress row.
-#}
{% macro _ensure_grants_and_docs(relation) -%}
    {%- do apply_grants(relation, config.get('grants'), should_revoke=True) -%}
    {%- do persist_docs(relation, model) -%}
{%- endmacro %}


{#-
    The code of a result is `adapter_response.code` in dbt's run results. People read the message; programs,
    such as `trueup watch`, read the code:

        OK      the model wrote something
        NOOP    there was nothing to do
        NOTICE  nothing was written, and people should see why: a batch was skipped, for example

    A caller that gives no `code` gets the one that fits its message.
-#}

{#- Ends a materialization that has nothing to write, and says why. -#}
{% macro _report_idle(message, code=none) -%}
    {%- set is_idle = message.startswith(('nothing to ', 'up to date ')) -%}
    {%- call noop_statement(
        'main', message, code=code or ('NOOP' if is_idle else 'NOTICE'), rows_affected=none
    ) -%}
        -- {{ message }}
    {%- endcall -%}
{%- endmacro %}


{#- Puts what a run did into dbt's line for the model, in the place of a bare OK. -#}
{% macro _report_result(message, code=none, rows_affected=none) -%}
    {%- set is_idle = message == 'corrections: none' or message.startswith((
        'up to date ', 'corrections: none; the next refresh', 'corrections: none; final since'
    )) -%}
    {%- set is_notice = message.startswith(('skipped: ', 'the log ends below the frontier')) -%}
    {%- do store_raw_result(
        'main', message=message,
        code=code or ('NOOP' if is_idle else 'NOTICE' if is_notice else 'OK'),
        rows_affected=rows_affected
    ) -%}
{%- endmacro %}
