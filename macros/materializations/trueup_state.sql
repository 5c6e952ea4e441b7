{#-
    Apply: step 5 of a run. Merges the tail of the changelog into the state; `--full-refresh`
    rebuilds the state from the whole changelog. The changelog is all that is read.
-#}
{% materialization trueup_state, adapter='spark' %}
    {%- set options = trueup._options() -%}
    {%- set unique_key = trueup._unique_key('state') -%}
    {%- set collection = trueup._collection_of('state') -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set changelog = trueup._sibling(collection, 'changelog') -%}
    {%- do trueup._require_not_deferred(collection, ['changelog']) -%}

    {{ run_hooks(pre_hooks) }}

    {%- do trueup._require_made(collection, changelog, by='batch') -%}
    {%- do trueup.require_same_key(changelog, unique_key) -%}
    {%- if should_full_refresh() -%}
        {%- do trueup.require_sound_changelog(
            changelog, unique_key, trueup.settle_widenings(changelog)
        ) -%}
        {%- set rehydrated = trueup.rehydrate_sql(changelog, unique_key) -%}
        {%- call statement('main') -%}
            {{ trueup.create_table_sql(target_relation, rehydrated, replace=true) }}
        {%- endcall -%}
        {%- do trueup._report('rebuilt from the changelog') -%}
    {%- else -%}
        {%- do trueup.create_state(changelog, target_relation, unique_key) -%}
        {%- set position = trueup.get_position(changelog, target_relation) -%}
        {%- do trueup._require_changelog_ahead(collection, position) -%}
        {%- if position.applied_seq == position.last_seq -%}
            {%- do trueup._no_op('up to date at batch ' ~ position.applied_seq) -%}
        {%- else -%}
            {%- set net_updates = trueup.get_net_updates(
                collection, changelog, unique_key, position, compiled_code
            ) -%}
            {%- do trueup.get_isolated_properties(target_relation) -%}
            {%- set tail = trueup.get_tail_keys(collection, changelog, unique_key, position) -%}
            {%- call statement('main') -%}
                {{ trueup.apply_updates_sql(
                    target_relation, changelog, net_updates, unique_key, tail.key_range,
                    tail.key_filter
                ) }}
            {%- endcall -%}
            {%- do trueup._report('applied batch ' ~ position.last_seq) -%}
            {%- do trueup.maintain_when_due(target_relation, changelog, options, position) -%}
        {%- endif -%}
    {%- endif -%}

    {%- do trueup._finish(target_relation) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
