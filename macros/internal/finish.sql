{#- What every materialization owes dbt once its table is written: constraints, grants, docs. -#}
{% macro _finish(relation) -%}
    {%- do persist_constraints(relation, model) -%}
    {%- do apply_grants(relation, config.get('grants'), should_revoke=True) -%}
    {%- do persist_docs(relation, model) -%}
{%- endmacro %}


{#- Ends a materialization that has nothing to write, and says why. -#}
{% macro _no_op(message) -%}
    {%- call noop_statement('main', message, code='OK', rows_affected='') -%}
        -- {{ message }}
    {%- endcall -%}
{%- endmacro %}


{#- Puts what a run did into dbt's line for the model, in the place of a bare OK. -#}
{% macro _report(message) -%}
    {%- do store_raw_result('main', message=message, code='OK', rows_affected='') -%}
{%- endmacro %}
