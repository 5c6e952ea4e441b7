{#- The keys that are broken now, and the reasons, as a view: one row per broken key. -#}
{% macro errors(collection) -%}
    {{- config(materialized='view') -}}
    {%- if collection is not string -%}
        {{ return(trueup._errors_of_store(collection)) }}
    {%- endif -%}
    {%- do trueup._require_role('errors', collection) -%}
{{ trueup._step_marker('create') }}
select
    {{ trueup._column_list(trueup._unique_key('errors')) }},
    _error_key,
    {{ trueup._error_kind_expr() }} as _error_kind,
    _error,
    _ts
from {{ trueup._ref(collection, 'state') }}
where _kind = 'error'
{%- endmacro %}
