{#-
    Compares what is persisted with what it should be, before the batch is minted. With commands and
    another option than `late: correct` there is nothing to compare with: those that came late are
    part of the log, but not of the collection.
-#}
{% materialization trueup_corrections, adapter='spark' %}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set collection = trueup._collection_of('corrections') -%}
    {%- set options = trueup._options(collection) -%}
    {%- set is_by_select = trueup._is_by_select(collection) -%}
    {%- do trueup._require_not_deferred(collection, [trueup._source_role(collection)]) -%}
    {%- set is_rebase = should_full_refresh() and trueup._var('trueup_rebase') -%}
    {%- if is_rebase and is_by_select -%}
        {%- do trueup._require_whole_rebase(collection) -%}
    {%- endif -%}

    {{ run_hooks(pre_hooks) }}

    {%- if is_rebase and not is_by_select -%}
        {%- do trueup._report_idle('a rebase begins again, nothing is corrected') -%}
    {%- elif options.late != 'correct' and options.verify == 'never' -%}
        {%- do trueup._report_idle(
            'nothing to correct (late: ' ~ options.late ~ ', verify: never)'
        ) -%}
    {%- else -%}
        {%- set shard = trueup._ensure_plan(
            collection, 'corrections', options, is_rebase=is_rebase,
            heals=options.verify != 'never'
        ) -%}
        {%- set columns = trueup._ensure_followed_columns(shard, options) -%}
        {%- set healed = trueup._ensure_healed(shard, columns, target_relation, options) -%}
        {%- if options.late == 'correct' -%}
            {%- set surplus = trueup._ensure_compared(
                collection, shard, columns, target_relation, options, keeps_edits=healed
            ) -%}
        {%- else -%}
            {%- do trueup._report_idle('nothing to correct') -%}
        {%- endif -%}
        {%- if healed or options.late == 'correct' -%}
            {%- set found = trueup._get_correction_counts(target_relation, shard.unique_key) -%}
            {%- if is_by_select -%}
                {%- do trueup._require_all_accounted_for(
                    collection, shard, target_relation, surplus, found
                ) -%}
            {%- endif -%}
            {%- do trueup._report_result(
                [found.report, healed, shard.frontier.get('reason')] | select | join('; ')
            ) -%}
            {%- do trueup._ensure_grants_and_docs(target_relation) -%}
        {%- endif -%}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
