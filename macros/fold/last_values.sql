{#-
    A select of the last value of each key. `steps` is a select of the steps. In a log without ticks (`reclock`) the
    tick says only when a command was read. So with `late: newest` the order comes first there.
-#}
{% macro _last_values_select(collection, steps) -%}
    {%- set identity = trueup._column_list(collection.identity) -%}
    {%- set sequence = trueup._sequence_terms(collection.options)[:-1] -%}
    {%- set is_by_order = collection.options.late == 'newest' and '_offset' in collection.extras -%}
    {%- set place = [sequence[0], '_ts'] if is_by_order else ['_ts', sequence[0]] -%}
    {%- set position = place + sequence[1:] -%}
select
    {{ identity }},
    max(_ts) as _ts,
    max_by(_value, struct({{ position | join(', ') }})) as _value
from {{ trueup._subquery(steps) }}
group by {{ identity }}
{%- endmacro %}
