{{ config(materialized='view', enabled=trueup._monitored_collections() | length > 0) }}
{%- do trueup._require_whole_run() %}
{%- set changelogs, batches, states = {}, {}, {} %}
{%- for collection in trueup._monitored_collections() %}
{%- do changelogs.update({collection: ref(collection ~ '_changelog')}) %}
{%- do batches.update({collection: ref(collection ~ '_batch')}) %}
{%- do states.update({collection: ref(collection ~ '_state')}) %}
{%- endfor %}
{{ trueup._health_select(
    changelogs, batches, states, lag=ref('trueup_lag'), runs=ref('trueup_runs')
) }}
