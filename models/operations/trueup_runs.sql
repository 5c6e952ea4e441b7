{{ config(
    materialized='trueup_runs',
    enabled=trueup._monitored_collections() | length > 0
) }}
select
    cast(null as string) as collection,
    cast(null as string) as model,
    cast(null as string) as outcome,
    cast(null as string) as error,
    cast(null as double) as seconds,
    cast(null as bigint) as updates,
    cast(null as int) as place,
    cast(null as string) as invocation_id,
    cast(null as timestamp) as recorded_at
where false
