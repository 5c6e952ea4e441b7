{#- The view that looks ahead of what is settled; made where columns are known by name. -#}
{% materialization trueup_live, adapter='spark' %}
    {%- set options = trueup._options() -%}
    {%- set unique_key = trueup._unique_key('live') -%}
    {%- set collection = trueup._collection_of('live') -%}
    {%- set target_relation = this.incorporate(type='view') -%}
    {%- set commands = trueup._sibling(collection, 'commands') -%}
    {%- set changelog = trueup._sibling(collection, 'changelog') -%}
    {%- do trueup._require_not_deferred(collection, ['commands', 'state']) -%}
    {%- do trueup._require_made(collection, changelog, by='batch') -%}
    {%- set described = trueup._get_columns('select * from ' ~ commands) -%}
    {%- set extras = trueup._extra_columns(described) -%}

    {{ run_hooks(pre_hooks) }}

    {%- call statement('main') -%}
{{ trueup._step_marker('create') }}
create or replace view {{ target_relation }} as
{{ trueup._live_select(
    commands, trueup._sibling(collection, 'state'), changelog, unique_key,
    trueup._get_user_columns(changelog), trueup._user_columns(described), extras, options
) }}
    {%- endcall -%}

    {%- do trueup._ensure_grants_and_docs(target_relation) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
