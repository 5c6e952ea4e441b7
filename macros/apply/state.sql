{#-
    The effect of the changelog's tail on the state, as a select: the last update of each key that the tail
    touches, and the progress row. See the YAML beside this file.

    The materialization `trueup_state` declares the variable `applied` of the Spark session: the last batch
    that the state has applied.
-#}
{% macro state(collection) -%}
    {{- config(materialized='trueup_state') -}}
    {%- do trueup._require_role('state', collection) -%}
{{ trueup._net_updates_select(
    changelog=trueup._ref(collection, 'changelog'),
    applied=trueup._session_name(collection, 'applied'),
    identity=trueup._unique_key('state') + ['_error_key']
) }}
{%- endmacro %}
