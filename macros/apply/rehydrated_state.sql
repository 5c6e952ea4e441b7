{#- The state, from the CTE `consolidated`: one row for each key with a value or a fault. -#}
{% macro _rehydrated_state_select(
    changelog, unique_key, columns, consolidated, takes_back=false
) -%}
    {%- set values = trueup._value_columns(unique_key, columns) -%}
    {%- set row = trueup._column_list(
        unique_key + values | map(attribute='name') | list + ['_error_key']
    ) -%}
with

history as (

    {% if takes_back -%}
    -- An update of an open tick that was retracted later is not a change at that tick.
    select
        {{ row }},
        _ts,
        'update' as _kind,
        sum(_diff) as _diff,
        max(_seq) as _seq
    from {{ changelog }}
    where {{ trueup._is_content_expr() }}
    group by {{ row }}, _ts
    having sum(_diff) <> 0
    {%- else -%}
    select * from {{ changelog }}
    {%- endif %}

),

{{ consolidated }}

select
    {% for name in unique_key -%}
    _key.{{ trueup._quoted(name) }},
    {% endfor -%}
    _value.*,
    _key._error_key,
    _ts,
    case
        when _fault is not null then {{ trueup._raise_unsound_key_expr(changelog, '_key', '_fault') }}
        else {{ trueup._kind_expr('_value._error', '_key') }}
    end as _kind,
    _seq,
    cast(null as bigint) as _upper
from consolidated

union all

select
    {% for _ in unique_key + values + ['_error_key', '_ts'] -%}
    null,
    {% endfor -%}
    'progress' as _kind,
    coalesce(max(_seq), 0) as _seq,
    max_by(_upper, _seq) as _upper
from {{ changelog }}
where _kind = 'progress' and {{ trueup._has_known_columns_expr(changelog, columns) }}
-- Sorted like the result of a large MERGE, so that a run can skip parts of a file.
sort by {{ trueup._quoted(unique_key[0]) }}
{%- endmacro %}


{#- Raises because the updates of a key do not leave one value or none, as an SQL expression. -#}
{% macro _raise_unsound_key_expr(changelog, key, fault) -%}
raise_error(concat(
            'the updates of a key in {{ changelog }} do not add up: key ',
            to_json({{ key }}, map('ignoreNullFields', 'false')), ': ', {{ fault }},
            '\nNothing is written. Batches are lost, doubled or edited, or an edited state was not verified:'
            ' restore the changelog.'
        ))
{%- endmacro %}


{#- Whether any batch has written updates of open ticks, which later batches may have retracted. -#}
{% macro _has_provisional_history_select(changelog) -%}
select coalesce(max(_statistics.open_upper > _upper), false)
from {{ changelog }}
where _kind = 'progress'
{%- endmacro %}


{#- Replaces all rows of the state by those of `rehydrated`, the select of the rehydrated state. -#}
{% macro _rebuild_state_sql(collection, rehydrated) -%}
{{ trueup._step_marker('rebuild') }}
insert overwrite {{ collection.state }} by name
select *
from {{ trueup._subquery(rehydrated) }}
where {{ trueup._state_fits_expr(collection) }}
{%- endmacro %}
