{#- The updates that eager batches wrote for ticks that are still open. -#}
{% macro _provisional_select(collection, columns, lower) -%}
    {%- set unique_key = collection.unique_key -%}
    {%- set values = trueup._value_names(columns, unique_key) -%}
select
    {{ trueup._column_list(collection.identity) }},
    _ts,
    _cause,
    _diff,
    struct({{ trueup._column_list(values + ['_error']) }}) as _value,
    {{ trueup._digest_expr(unique_key, columns, alias='provisional_updates') }} as _digest
from {{ collection.changelog }} as provisional_updates
where {{ trueup._is_provisional_expr(lower) }}
{%- endmacro %}
