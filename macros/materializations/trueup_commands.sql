{#-
    The view of the commands. It has its own materialization, because a bad key or column can be refused by
    name only here, before the view is made.
-#}
{% materialization trueup_commands, adapter='spark' %}
    {#- 1. Read the options, and refuse a run over only some of the rows. -#}
    {%- set target_relation = this.incorporate(type='view') -%}
    {%- do trueup._require_whole_run() -%}
    {%- set unique_key = trueup._unique_key('commands') -%}

    {{ run_hooks(pre_hooks) }}

    {#- 2. Refuse a bad key or column by name. -#}
    {%- do trueup._require_log_columns(compiled_code, unique_key) -%}
    {#- Our own columns come last. `_ts` is the first of them. -#}
    {%- set columns = trueup._get_columns(
        trueup._step_marker('check') ~ compiled_code
    ) | reverse | list -%}
    {%- set own_count = (columns | map(attribute='name') | list).index('_ts') + 1 -%}
    {%- do trueup._require_user_columns((columns | reverse | list)[:-own_count]) -%}

    {#- 3. Make the view. -#}
    {%- call statement('main') -%}
        {{ trueup._step_marker('create') }}
        {{ get_create_view_as_sql(target_relation, sql) }}
    {%- endcall -%}

    {#- 4. Set grants, and run the hooks. -#}
    {%- do apply_grants(target_relation, config.get('grants'), should_revoke=True) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
