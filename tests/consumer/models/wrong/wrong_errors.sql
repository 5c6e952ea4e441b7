-- Three errors are open: two values and the missing key.
{{ config(materialized='table', file_format='iceberg') }}

select
    k,
    _error_key,
    _error_kind,
    _error,
    cast(1 as bigint) as _ts
from values
    ('a', null, 'value', 'no number'),
    ('b', null, 'value', 'no date'),
    (null, 'null', 'null_key', 'the key is null')
    as errors (k, _error_key, _error_kind, _error)
