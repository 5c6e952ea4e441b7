{{ config(materialized='view') }}
{{ trueup._health_select(
    trueup._monitored_collections() | list, trueup._get_monitored_stores(), ref('trueup_statistics'), ref('trueup_lag')
) }}
