{#-
    CTEs that say why a row of a table differs from its log. A key with several rows in the table gives one
    more row here, which counts the extra ones.

    Reads: `compared`, `values_of_log`, `adopted`. Ends with: `counted`.
-#}
{% macro _drift_causes_ctes(key) -%}
    {%- set columns = trueup._column_list(key) -%}
caused as (

    select
        {{ trueup._column_list(key, alias='compared') }},
        _persisted,
        _desired,
        1 as _persisted_count,
        case
            when _persisted <=> _desired then if(_persisted is null, null, 'equal')
            when _persisted is null then 'missing_row'
            when _is_known is null then 'unknown_key'
            when _desired is null then 'missed_delete'
            when _was_known then 'late_update'
            else 'other'
        end as _cause
    from compared
    left join values_of_log
        on {{ trueup._same_key_expr(key, 'compared', 'values_of_log') }}
        and compared._persisted <=> values_of_log._value

),

all_causes as (

    select * from caused where _cause is not null
    union all
    select {{ columns }}, _persisted, _persisted, _persisted_count - 1, 'duplicate'
    from adopted
    where not _is_null_key and _persisted_count > 1
    union all
    select {{ columns }}, _persisted, null, _persisted_count, 'null_key'
    from adopted
    where _is_null_key

),

counted as (

    select
        *,
        sum(_persisted_count) over (partition by _cause) as _match_rows,
        row_number() over (partition by _cause order by xxhash64({{ columns }}), {{ columns }})
            as _match_place
    from all_causes

)
{%- endmacro %}
