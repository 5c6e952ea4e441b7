{#-
    What a materialization owes dbt once its table is written: grants and docs. Constraints of a
    contract are left out: a key column is null on the progress row.
-#}
{% macro _ensure_grants_and_docs(relation) -%}
    {%- do apply_grants(relation, config.get('grants'), should_revoke=True) -%}
    {%- do persist_docs(relation, model) -%}
{%- endmacro %}


{#- Ends a materialization that has nothing to write, and says why. -#}
{% macro _report_idle(message) -%}
    {%- call noop_statement('main', message, code='OK', rows_affected='') -%}
        -- {{ message }}
    {%- endcall -%}
{%- endmacro %}


{#- Puts what a run did into dbt's line for the model, in the place of a bare OK. -#}
{% macro _report_result(message) -%}
    {%- do store_raw_result('main', message=message, code='OK', rows_affected='') -%}
{%- endmacro %}
