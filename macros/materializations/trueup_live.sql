{#-
    The view that looks ahead of the settled ticks. It is made at run time, when the column names are known.
-#}
{% materialization trueup_live, adapter='spark' %}
    {#- 1. Read the options, and refuse bad settings. -#}
    {%- set collection = trueup._collection('live') -%}
    {%- set target_relation = this.incorporate(type='view') -%}
    {%- do trueup._require_not_deferred(collection.name, ['commands', 'state']) -%}
    {%- do trueup._require_made(collection.name, collection.changelog, by='batch') -%}
    {%- set collection = trueup._ensure_input(collection) -%}

    {{ run_hooks(pre_hooks) }}

    {#- 2. Make the view. -#}
    {%- set columns = trueup._get_user_columns(collection.changelog) -%}
    {%- do trueup._require_types_of_changelog(collection, columns) -%}
    {%- set select = trueup._live_select(collection, columns) -%}
    {%- call statement('main') -%}
        {{ trueup._step_marker('create') }}
        {{ get_create_view_as_sql(target_relation, select) }}
    {%- endcall -%}

    {#- 3. Set grants, and run the hooks. Spark comments the columns of a view only while it makes it. -#}
    {%- do apply_grants(target_relation, config.get('grants'), should_revoke=True) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
