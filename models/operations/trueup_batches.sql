{{ config(materialized='view') }}
{{ trueup._batches_select(trueup._get_monitored_stores()) }}
