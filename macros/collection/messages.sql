{#- What dbt says of a run: its line, with the counts of its batches and with warnings. -#}

{#- What dbt says of the batches that this run has written, as a dict. -#}
{% macro _outcome_of_batches(batches, plan) -%}
    {%- set statistics = {} -%}
    {%- for batch in batches -%}
        {%- for name, count in batch.statistics.items() -%}
            {%- do statistics.update({name: statistics.get(name, 0) + count}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set doubt = batches | map(attribute='doubt') | select | list | last | default(none) -%}
    {%- set first, last = batches[0].seq, batches[-1].seq -%}
    {{ return({
        'code': 'OK', 'message': ('batch ' if first == last else 'batches ' ~ first ~ ' to ') ~ last ~ ': '
            ~ trueup._batch_message(statistics, plan.collection.is_log) ~ trueup._warnings(doubt, statistics),
        'rows_affected': statistics.updates_committed | int,
    }) }}
{%- endmacro %}


{#- What a person must know of a batch and may not overlook, for dbt's line. -#}
{% macro _warnings(doubt, statistics) -%}
    {%- set said = [] -%}
    {%- if statistics.get('ahead') -%}
        {%- do said.append(
            statistics.ahead ~ (' key has' if statistics.ahead == 1 else ' keys have') ~ ' an order more than a day ahead of the clock:'
            ~ ' no change with an order of today can replace such a row'
        ) -%}
    {%- endif -%}
    {%- if statistics.get('below_places') -%}
        {%- do said.append(
            statistics.below_places ~ (' message' if statistics.below_places == 1 else ' messages') ~ ' at places that were read before'
            ~ ' have content that was not. If the topic has begun again, give it another name in `reclock`'
        ) -%}
    {%- endif -%}
    {%- if statistics.get('unprovable') -%}
        {%- do said.append(
            statistics.unprovable ~ (' new key has' if statistics.unprovable == 1 else ' new keys have') ~ ' an order below that of'
            ~ ' forgotten tombstones: nobody can know if a later delete was forgotten'
        ) -%}
    {%- endif -%}
    {%- if doubt -%}
        {%- do said.append(
            doubt.stale ~ ' of ' ~ doubt.of ~ ' keys got commands that are older than their rows, with content that trueup has'
            ~ ' never seen. They have no effect. If the orders of the source have begun again, raise the option `order_epoch`. If not, run with'
            ~ " --vars '{trueup_approve: orders}'"
        ) -%}
    {%- endif -%}
    {{ return('; WARNING: ' ~ (said | join('; ')) if said else '') }}
{%- endmacro %}


{#- The counts of a batch in words; counts of 0 are left out. -#}
{% macro _batch_message(statistics, is_log) -%}
    {%- set words = {
        'inserts': 'inserted', 'updates': 'updated', 'deletes': 'deleted', 'error_inserts': 'errors',
        'error_retractions': 'errors cleared', 'ties': 'ties', 'superseded': 'superseded' if is_log else none,
    } -%}
    {%- set parts = [
        statistics.messages_received ~ (' command' if statistics.messages_received == 1 else ' commands')
    ] if is_log else [] -%}
    {%- for name, word in words.items() if word and statistics.get(name) -%}
        {%- set one = {'ties': 'tie', 'errors': 'error', 'errors cleared': 'error cleared'}.get(word, word) -%}
        {%- do parts.append(statistics[name] ~ ' ' ~ (one if statistics[name] == 1 else word)) -%}
    {%- endfor -%}
    {{ return(parts | join(', ') or 'no row changed') }}
{%- endmacro %}
