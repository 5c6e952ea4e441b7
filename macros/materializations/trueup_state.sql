{#-
    Apply: step 5 of a run. Merges the tail of the changelog into the state. `--full-refresh` rebuilds the
    state from the whole changelog. The only input is the changelog.
-#}
{% materialization trueup_state, adapter='spark' %}
    {#- 1. Read the options, and refuse bad settings. -#}
    {%- set collection = trueup._collection('state') -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set changelog = collection.changelog -%}
    {%- do trueup._require_not_deferred(collection.name, ['changelog']) -%}

    {{ run_hooks(pre_hooks) }}

    {#- 2. Check that the changelog exists and has the same key. -#}
    {%- do trueup._require_made(collection.name, changelog, by='batch') -%}
    {%- set idle_at = none if should_full_refresh() else trueup._finding(collection, 'idle_at') -%}
    {%- if idle_at is none and not trueup._finding(collection, 'stored') -%}
        {%- do trueup._require_known_changelog(changelog) -%}
        {%- do trueup._require_same_key(collection, trueup._get_isolated_properties(changelog)) -%}
    {%- endif -%}
    {%- if should_full_refresh() -%}
        {#- 3. With `--full-refresh`: rebuild the state from the whole changelog. Then go to step 6. -#}
        {%- do trueup._ensure_rebuilt_state(collection) -%}
        {%- do trueup._report_result('rebuilt from the changelog') -%}
    {%- else -%}
        {#- 4. Make the state if it is missing. If it has applied every batch, go to step 6. -#}
        {%- do trueup._ensure_state(collection) -%}
        {%- set known_tail = {'last_seq': idle_at, 'applied_seq': idle_at} if idle_at is not none
            else trueup._get_tail_of_this_run(collection, trueup._get_isolated_properties(target_relation)) -%}
        {%- set tail = known_tail or trueup._get_tail(changelog, target_relation) -%}
        {%- do trueup._require_changelog_ahead(collection.name, tail) -%}
        {%- if tail.applied_seq == tail.last_seq -%}
            {%- do trueup._report_idle('up to date at batch ' ~ tail.applied_seq) -%}
        {%- else -%}
            {%- if not known_tail -%}
                {%- do trueup._require_one_progress_row(collection, tail) -%}
                {%- do trueup._require_sound_tail(
                    collection, tail, trueup._get_user_columns(changelog)
                ) -%}
            {%- endif -%}
            {#- 5. Apply the tail of the changelog. Then maintain the tables if that is due. -#}
            {%- set net_updates = trueup._ensure_net_updates(collection, tail, compiled_code) -%}
            {%- do trueup._require_exact_merge() -%}
            {%- do trueup._ensure_scan_follows(target_relation, tail) -%}
            {%- set touched = trueup._get_tail_keys(collection, tail) if tail.applied_seq > 0 else {} -%}
            {%- call statement('main') -%}
                {{ trueup._apply_tail_sql(
                    collection, tail, net_updates, touched.get('key_range'), touched.get('key_filter')
                ) }}
            {%- endcall -%}
            {%- do trueup._report_result('applied batch ' ~ tail.last_seq) -%}
            {%- do trueup._ensure_maintained_when_due(target_relation, changelog, collection.options, tail) -%}
        {%- endif -%}
    {%- endif -%}

    {#- 6. Set grants and docs, drop the session objects, and run the hooks. -#}
    {%- do trueup._ensure_grants_and_docs(target_relation) -%}
    {%- do trueup._ensure_no_session_objects() -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
