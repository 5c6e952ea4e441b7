{{ config(materialized='view') }}
select
    -- The last extension of the name; none for names without a point, or with one in front alone.
    regexp_extract(path, '[^/][.]([^./]+)$', 1) as extension,
    count(*) as file_count,
    count(distinct blob) as blob_count
from {{ ref('files') }}
group by extension
