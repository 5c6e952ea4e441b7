{#-
    Verifies the state, and heals it where needed, before anything else reads it. Otherwise a row that
    somebody changed would enter the changelog as the retraction of a row that was never added. Writes the
    edits it finds into `corrections`. Returns a report of the heal; none if there was nothing to heal.

    A scan is not needed if the snapshots of the state say that nobody but trueup has written to it since the
    last scan.
-#}
{% macro _ensure_healed(collection, plan, columns) -%}
    {%- set verify, is_lost = collection.options.verify, plan.is_state_lost -%}
    {%- if not is_lost and (verify == 'never' or plan.last_seq == 0) -%}
        {{ return(none) }}
    {%- endif -%}
    {#- Read the snapshot before the scan: a later commit is then not taken for a scanned one. -#}
    {%- set properties = trueup._get_isolated_properties(collection.state) -%}
    {%- set snapshot = trueup._get_snapshot(collection.state, properties)
        if verify != 'content' else none -%}
    {%- do trueup._keep_finding(collection, 'verified_snapshot', snapshot) -%}
    {%- do trueup._keep_finding(collection, 'verified_seq', plan.last_seq) -%}
    {%- if not is_lost and not trueup._is_scan_due(verify, properties, plan.last_seq)
            and trueup._get_is_untouched(collection.state, properties, snapshot, plan.last_seq) -%}
        {%- do trueup._keep_finding(collection, 'state_verified_by', 'snapshots') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do trueup._require_sealed_batches(collection.changelog) -%}
    {%- set found = trueup._get_differences(collection, plan, columns) -%}
    {%- set is_restored = is_lost or found.is_progress_wrong or found.has_empty_row -%}
    {%- if not (found.buckets or is_restored) -%}
        {%- do trueup._keep_finding(collection, 'state_verified_by', 'scan') -%}
        {%- if verify != 'content' -%}
            {%- do trueup._ensure_scan_noted(collection.state, properties, snapshot, plan.last_seq) -%}
        {%- elif trueup._is_unverified(properties) -%}
            {%- do trueup._ensure_state_trusted(collection.state, trueup._last_forgetting(properties)) -%}
        {%- endif -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set tail = trueup._get_tail(collection.changelog, collection.state) -%}
    {%- if tail.last_seq != plan.last_seq -%}
        {#- The state has batches that the changelog does not have at `last_seq`. They are not edits. -#}
        {%- do exceptions.raise_compiler_error(
            'state moved: batch ' ~ tail.last_seq ~ ' came while this run verified the state at'
            ~ ' batch ' ~ plan.last_seq ~ '; nothing is healed, run again'
        ) -%}
    {%- endif -%}
    {%- set forgetting = trueup._ensure_scan_forgotten(collection.state) -%}
    {%- do trueup._require_sound_changelog(
        collection.changelog, collection.unique_key, columns
    ) -%}
    {%- do run_query(trueup._create_table_sql(
        collection.corrections,
        trueup._external_edits_select(
            collection, plan, columns, none if is_restored else found.buckets
        ),
        replace=true, own_properties=trueup._no_comparison_properties()
    )) -%}
    {%- do trueup._keep_finding(collection, 'state_verified_by', 'heal') -%}
    {%- if is_restored -%}
        {%- set begun_at = modules.datetime.datetime.now() -%}
        {%- do run_query(trueup._rebuild_state_sql(
            collection, trueup._get_rehydrated_select(collection, columns)
        )) -%}
        {%- do trueup._ensure_heal_trusted(collection.state, snapshot, forgetting) -%}
        {%- do trueup._keep_rehydration(collection, begun_at) -%}
        {{ return(
            'the state was rebuilt, because '
            ~ ('it was lost' if is_lost
                else 'its progress row was not that of batch ' ~ plan.last_seq if found.is_progress_wrong
                else 'it had a row without key and `_kind`')
        ) }}
    {%- endif -%}
    {%- do run_query(trueup._heal_sql(collection, columns, plan.last_seq, found.buckets)) -%}
    {%- do trueup._ensure_heal_trusted(collection.state, snapshot, forgetting) -%}
    {%- set healed_count = found.buckets | length -%}
    {{ return(
        '1 bucket of the state was healed' if healed_count == 1
        else healed_count ~ ' buckets of the state were healed'
    ) }}
{%- endmacro %}


{#-
    Notes that a heal has made the state right, unless the state has another commit since `snapshot`, the one before
    the scan: it may be an edit that the heal does not know. With `verify: content`, where `snapshot` is none, each run
    with the corrections scans. `forgetting` is the name that this run has written before the heal.
-#}
{% macro _ensure_heal_trusted(state, snapshot, forgetting) -%}
    {%- set properties = trueup._get_properties(state) if snapshot is not none -%}
    {%- if snapshot is none or trueup._get_commits_since(
            snapshot, state, properties, trueup._get_snapshot(state, properties)) == 1 -%}
        {%- do trueup._ensure_state_trusted(state, forgetting) -%}
    {%- endif -%}
{%- endmacro %}
