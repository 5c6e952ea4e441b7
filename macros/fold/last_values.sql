{#- The value that the steps of each key, a select, end with, as a select. -#}
{% macro _last_values_select(steps, unique_key, options) -%}
    {%- set identity = trueup._column_list(unique_key + ['_error_key']) -%}
    {%- set position = ['_ts'] + trueup._sequence_terms(options)[:-1] -%}
select
    {{ identity }},
    max(_ts) as _ts,
    max_by(_value, struct({{ position | join(', ') }})) as _value
from {{ trueup._subquery(steps) }}
group by {{ identity }}
{%- endmacro %}
