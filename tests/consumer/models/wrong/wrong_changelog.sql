-- Three laws are broken: key a has two live rows at tick 2, the row of key b is retracted at tick 1,
-- before it is added, and the batch has no progress row, so no certificate.
{{ config(materialized='table', file_format='iceberg') }}

select
    k,
    v,
    cast(null as string) as _error,
    cast(null as string) as _error_key,
    cast(_ts as bigint) as _ts,
    _diff,
    cast(null as string) as _cause,
    'update' as _kind,
    cast(1 as bigint) as _seq,
    cast(0 as bigint) as _lower,
    cast(3 as bigint) as _upper,
    'wrong' as _batch_id,
    cast(null as {{ trueup._statistics_type() }}) as _statistics,
    cast(null as array<struct<
        bucket: int, diff_sum: bigint, len_sum: bigint, checksum_low_sum: bigint,
        checksum_high_sum: bigint, value_xor: bigint
    >>) as _certificate
from values
    ('a', 'one', 1, 1),
    ('a', 'two', 2, 1),
    ('b', 'one', 1, -1),
    ('b', 'one', 2, 1),
    (null, 'one', 1, 1)
    as updates (k, v, _ts, _diff)
