{{ config(materialized='trueup', unique_key='extension') }}

select
    -- Of the last point in the name, unless it is the first letter; empty for none.
    regexp_extract(path, '[^/][.]([^./]+)$', 1) as extension,
    count(*) as file_count,
    count(distinct blob) as blob_count
from {{ ref('files') }}
group by extension
