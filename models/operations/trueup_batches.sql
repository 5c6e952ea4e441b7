{{ config(materialized='view') }}
{%- do trueup._require_whole_run() %}
{%- set demo = ['files'] if project_name == 'trueup' else [] %}
{%- set collections = var('trueup_collections', demo) %}

with

progress as (
    {% for collection in collections %}
    select
        {{ trueup._literal(collection) }} as collection,
        _seq,
        _lower,
        _upper,
        _batch_id,
        _statistics
    from {{ ref(collection ~ '_changelog') }}
    where _kind = 'progress'
    {% if not loop.last %}union all{% endif %}
    {% else %}
    select
        cast(null as string) as collection,
        cast(null as bigint) as _seq,
        cast(null as bigint) as _lower,
        cast(null as bigint) as _upper,
        cast(null as string) as _batch_id,
        cast(null as {{ trueup._statistics_type() }}) as _statistics
    where false
    {% endfor %}
)

select
    progress.collection,
    progress._seq as batch,
    progress._lower as lower,
    progress._upper as upper,
    progress._batch_id as batch_id,
    progress._statistics.* except (position, format, read_only, seal),
    unix_seconds(progress._statistics.committed_at)
    - unix_seconds(progress._statistics.minted_at) as duration
from progress
