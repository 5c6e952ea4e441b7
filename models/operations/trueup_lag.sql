{{ config(materialized='view') }}
{{ trueup._lag_select(
    ref('trueup_statistics'), trueup._get_monitored_logs(trueup._get_monitored_stores())
) }}
