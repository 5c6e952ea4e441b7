{{ config(materialized='view') }}
{{ trueup._statistics_select(ref('trueup_batches')) }}
