{#- A select of the last value of each key. `steps` is a select of the steps. -#}
{% macro _last_values_select(collection, steps) -%}
    {%- set identity = trueup._column_list(collection.identity) -%}
    {%- set position = ['_ts'] + trueup._sequence_terms(collection.options)[:-1] -%}
select
    {{ identity }},
    max(_ts) as _ts,
    max_by(_value, struct({{ position | join(', ') }})) as _value
from {{ trueup._subquery(steps) }}
group by {{ identity }}
{%- endmacro %}
