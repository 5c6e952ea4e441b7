{#-
    Verifies the state and heals it where it has to be, before anything reads it: a row that someone
    changed would enter the changelog as the retraction of something that was never added. Writes
    what it finds into `corrections`, and returns what it has done, none where it had nothing to do.
-#}
{% macro _ensure_healed(shard, columns, corrections, options) -%}
    {%- set frontier = shard.frontier -%}
    {%- set upper = frontier.lower if frontier.last_seq > 0 else 'null' -%}
    {%- if not shard.is_state_lost
            and not trueup._is_verification_due(options.verify, frontier.last_seq) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set found = trueup._get_differences(
        shard.state, shard.changelog, shard.unique_key, columns, frontier.last_seq, upper
    ) -%}
    {%- set is_restored = shard.is_state_lost or found.is_progress_wrong -%}
    {%- if not (found.buckets or is_restored) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set position = trueup._get_position(shard.changelog, shard.state) -%}
    {%- if position.last_seq != frontier.last_seq -%}
        {#- It has batches that it should not have at `last_seq`, and they are no edits. -#}
        {%- do exceptions.raise_compiler_error(
            'state moved: batch ' ~ position.last_seq ~ ' came while this run verified the state at'
            ~ ' batch ' ~ frontier.last_seq ~ '; nothing is healed, run again'
        ) -%}
    {%- endif -%}
    {%- do trueup._require_sound_changelog(shard.changelog, shard.unique_key, columns) -%}
    {%- do run_query(trueup._create_table_sql(corrections, trueup._external_edits_select(
        shard.state, shard.changelog, shard.unique_key, columns, frontier,
        none if is_restored else found.buckets
    ), replace=true, own_properties=trueup._no_comparison())) -%}
    {%- if is_restored -%}
        {%- do run_query(
            trueup._step_marker('rebuild') ~ '\ninsert overwrite ' ~ shard.state ~ ' by name\n'
            ~ trueup._get_rehydrated_select(shard.changelog, shard.unique_key)
        ) -%}
        {{ return('the state was made anew, its progress row was not that of batch '
            ~ frontier.last_seq) }}
    {%- endif -%}
    {%- do run_query(trueup._heal_sql(
        shard.state, shard.changelog, shard.unique_key, columns, frontier.last_seq, found.buckets
    )) -%}
    {{ return((found.buckets | length) ~ ' buckets of the state were healed') }}
{%- endmacro %}


{#- Whether this run verifies; nothing is verified before the first batch. -#}
{% macro _is_verification_due(verify, last_seq) -%}
    {{ return(
        last_seq > 0 and (verify == 'always' or (verify is integer and last_seq % verify == 0))
    ) }}
{%- endmacro %}
