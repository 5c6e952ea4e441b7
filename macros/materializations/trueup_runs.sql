{#-
    The table of `trueup.record_runs`. It is made once, by the typed select of the model. Its rows are never
    replaced, not even by `--full-refresh`.
-#}
{% materialization trueup_runs, adapter='spark' %}
    {%- set target_relation = this.incorporate(type='table') -%}

    {{ run_hooks(pre_hooks) }}

    {%- if load_relation(this) is none -%}
        {%- call statement('main') -%}
            {{ trueup._create_table_sql(target_relation, sql) }}
        {%- endcall -%}
    {%- else -%}
        {%- do trueup._report_idle('the table exists') -%}
    {%- endif -%}
    {%- do trueup._ensure_grants_and_docs(target_relation) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
