{{ config(materialized='view') }}
{{ trueup.history('orders', track=['status'], by='commit_time') }}
