{#-
    The duties of a materialization after it has written its table: grants and docs. Constraints of a
    contract are left out, because a key column is null on the progress row.
-#}
{% macro _ensure_grants_and_docs(relation) -%}
    {%- do apply_grants(relation, config.get('grants'), should_revoke=True) -%}
    {%- do persist_docs(relation, model) -%}
{%- endmacro %}
