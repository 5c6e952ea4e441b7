-- Against wrong_changelog: `two` of key a is missing, and the null key has another value.
{{ config(materialized='table', file_format='iceberg') }}

select
    k,
    v,
    cast(null as string) as _error,
    cast(null as string) as _error_key,
    cast(1 as bigint) as _ts,
    'row' as _kind,
    cast(1 as bigint) as _seq,
    cast(null as bigint) as _upper
from values ('a', 'one'), (null, 'another') as rows (k, v)
