-- Two partitions have gaps, one of them ends before what was settled, and one was created again.
{{ config(materialized='table', file_format='iceberg') }}

select
    _finding,
    _partition,
    cast(first_offset as bigint) as first_offset,
    cast(last_offset as bigint) as last_offset
from values
    ('gap', '0', 3, 4),
    ('gap', '1', 7, 7),
    ('regression', '1', 9, 12),
    ('recreated', '2', 0, 5)
    as findings (_finding, _partition, first_offset, last_offset)
