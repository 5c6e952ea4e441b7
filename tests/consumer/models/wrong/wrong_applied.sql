-- Against wrong_frontier: batch 4 was applied with another upper.
{{ config(materialized='table', file_format='iceberg') }}

select
    'progress' as _kind,
    cast(4 as bigint) as _seq,
    cast(7 as bigint) as _upper
