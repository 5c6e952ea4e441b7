{#-
    The view of `trueup_lag`. It leaves out the logs that a model could not read in its last run: one of them
    would make this run fail, too. Only `trueup_runs` knows them, and a model may not ask while dbt compiles.
-#}
{% materialization trueup_lag, adapter='spark' %}
    {%- set target_relation = this.incorporate(type='view') -%}

    {{ run_hooks(pre_hooks) }}

    {%- set runs = trueup._get_runs_relation() -%}
    {%- set unread = trueup._unread_collections(trueup._get_failed_models(runs)) if runs else [] -%}
    {%- set changelogs = {} -%}
    {%- for collection in trueup._monitored_collections() -%}
        {%- do changelogs.update({collection: ref(collection ~ '_changelog')}) -%}
    {%- endfor -%}
    {%- call statement('main') -%}
        {{ trueup._step_marker('create') }}
        {{ get_create_view_as_sql(
            target_relation, trueup._lag_select(changelogs, unread) if unread else sql
        ) }}
    {%- endcall -%}
    {%- do apply_grants(target_relation, config.get('grants'), should_revoke=True) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
