{#-
    What the changelog's tail makes of the state, as a select: for each key that the tail touches
    its last update, and the progress row. See the YAML beside this file.

    The variable `applied` of the Spark session, the last batch that the state holds, is declared
    by the materialization `trueup_state`.
-#}
{% macro state(collection) -%}
    {{- config(materialized='trueup_state') -}}
    {%- do trueup._require_role('state', collection) -%}
{{ trueup.consolidate_tail(
    changelog=ref(collection ~ '_changelog'),
    applied=trueup._session_name(collection, 'applied'),
    identity=trueup._unique_key('state') + ['_error_key']
) }}
{%- endmacro %}


{#-
    A select of the net effect of the batches after `applied`: the columns of the state, `_diff`
    (1 the row is there, -1 it is gone) and `_applied`. Within a batch and a tick the retraction
    of a key comes before its addition.
-#}
{% macro consolidate_tail(changelog, applied, identity) -%}
    {%- set columns = trueup._column_list(identity) -%}
    {%- set value = 'struct(' ~ trueup._all_but(identity + trueup._update_columns()) ~ ')' -%}
with

tail as (

    select * from {{ changelog }} where _seq > {{ applied }}

),

last_updates as (

    select
        {{ columns }},
        max_by({{ value }}, struct(_seq, _ts, _diff)) as _value,
        max(struct(_seq, _ts, _diff)) as _last
    from tail
    where _kind = 'update'
    group by {{ columns }}

),

last_progress as (

    select
        {% for name in identity -%}
        max_by({{ trueup._quote(name) }}, _seq) as {{ trueup._quote(name) }},
        {% endfor -%}
        max_by({{ value }}, _seq) as _value,
        coalesce(max(_seq), {{ applied }}) as _seq,
        max_by(_upper, _seq) as _upper
    from tail
    where _kind = 'progress'

)

select
    {{ trueup._column_list(identity[:-1]) }},
    _value.*,
    _error_key,
    _last._ts,
    case when _value._error is null then 'row' else 'error' end as _kind,
    _last._seq,
    cast(null as bigint) as _upper,
    _last._diff,
    {{ applied }} as _applied
from last_updates

union all

select
    {{ trueup._column_list(identity[:-1]) }},
    _value.*,
    _error_key,
    null as _ts,
    'progress' as _kind,
    _seq,
    _upper,
    1 as _diff,
    {{ applied }} as _applied
from last_progress
{%- endmacro %}
