{#-
    The collection as a view for analysts: exactly the key and value columns of its rows. With the option
    `inline_errors` the view also has the keys with a value error. A column with the name that the option
    gives holds the text of the error. It stands between the key and the values.
-#}
{% macro collection(collection) -%}
    {{- config(materialized='view') -}}
    {%- do trueup._require_role('collection', collection) -%}
    {%- set inline_errors = trueup._options(collection if execute else none).inline_errors -%}
{{ trueup._step_marker('create') }}
    {%- if inline_errors -%}
        {%- set key = trueup._unique_key('collection') %}
select
    {{ trueup._column_list(key) }},
    _error as {{ trueup._quoted(inline_errors) }},
    {{ trueup._all_but_list(key + ['_error', '_error_key'] + trueup._state_columns()) }}
from {{ trueup._ref(collection, 'state') }}
where _kind <> 'progress' and _error_key is null
    {%- else %}
select {{ trueup._all_but_list(['_error', '_error_key'] + trueup._state_columns()) }}
from {{ trueup._ref(collection, 'state') }}
where _kind = 'row'
    {%- endif -%}
{%- endmacro %}
