{{ config(materialized='view', enabled=trueup._monitored_collections() | length > 0) }}
{%- do trueup._require_whole_run() %}
{%- set changelogs, batches = {}, {} %}
{%- for collection in trueup._monitored_collections() %}
{%- do changelogs.update({collection: ref(collection ~ '_changelog')}) %}
{%- do batches.update({collection: ref(collection ~ '_batch')}) %}
{%- endfor %}
{{ trueup._statistics_select(changelogs, batches, runs=ref('trueup_runs')) }}
