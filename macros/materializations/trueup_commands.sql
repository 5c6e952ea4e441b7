{#-
    The view of the commands. It has its own materialization, because a bad key or column can be refused by
    name only here, before the view is made.
-#}
{% materialization trueup_commands, adapter='spark' %}
    {%- set target_relation = this.incorporate(type='view') -%}
    {%- do trueup._require_whole_run() -%}
    {%- set unique_key = trueup._unique_key('commands') -%}

    {{ run_hooks(pre_hooks) }}

    {%- do trueup._require_log_columns(compiled_code, unique_key) -%}
    {#- Our own columns come last. `_ts` is the first of them. -#}
    {%- set columns = trueup._get_columns(compiled_code) | reverse | list -%}
    {%- set own_count = (columns | map(attribute='name') | list).index('_ts') + 1 -%}
    {%- do trueup._require_user_columns((columns | reverse | list)[:-own_count]) -%}

    {%- call statement('main') -%}
        {{ trueup._step_marker('create') }}
        {{ get_create_view_as_sql(target_relation, sql) }}
    {%- endcall -%}

    {%- do apply_grants(target_relation, config.get('grants'), should_revoke=True) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
