{#- The updates that eager batches have written for ticks that are still open. -#}
{% macro _provisional_select(changelog, frontier, unique_key, columns) -%}
    {%- set values = trueup._value_names(columns, unique_key) -%}
select
    {{ trueup._column_list(unique_key + ['_error_key']) }},
    _ts,
    _cause,
    _diff,
    struct({{ trueup._column_list(values + ['_error']) }}) as _value,
    {{ trueup._digest_expr(unique_key, columns) }} as _digest
from {{ changelog }}
where {{ trueup._is_provisional_expr(frontier ~ '.lower') }}
{%- endmacro %}
