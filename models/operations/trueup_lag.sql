{{ config(materialized='trueup_lag', enabled=trueup._monitored_collections() | length > 0) }}
{%- do trueup._require_whole_run() %}
{%- set changelogs = {} %}
{%- for collection in trueup._monitored_collections() %}
-- depends_on: {{ ref(collection ~ '_state') }}
{%- do changelogs.update({collection: ref(collection ~ '_changelog')}) %}
{%- endfor %}
{{ trueup._lag_select(changelogs) }}
