-- Batch 2 ends before it begins, batch 4 follows no batch, and an update is below its own lower.
{{ config(materialized='table', file_format='iceberg') }}

select
    cast(_ts as bigint) as _ts,
    _kind,
    cast(_seq as bigint) as _seq,
    cast(_lower as bigint) as _lower,
    cast(_upper as bigint) as _upper
from values
    (null, 'progress', 1, 0, 3),
    (null, 'progress', 2, 3, 2),
    (null, 'progress', 4, 5, 6),
    (2, 'update', 1, 0, 3),
    (4, 'update', 4, 5, 6),
    (3, 'update', 4, 5, 6)
    as rows (_ts, _kind, _seq, _lower, _upper)
