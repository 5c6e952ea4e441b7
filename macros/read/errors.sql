{#- The keys that are broken now, and why, as a view: one row per key that is broken now. -#}
{% macro errors(collection) -%}
    {{- config(materialized='view') -}}
    {%- do trueup._require_role('errors', collection) -%}
{{ trueup._mark('create') }}
select
    {{ trueup._column_list(trueup._unique_key('errors')) }},
    _error_key,
    {{ trueup.error_kind_expr() }} as _error_kind,
    _error,
    _ts
from {{ ref(collection ~ '_state') }}
where _kind = 'error'
{%- endmacro %}


{#- The kind of an error: of a value, of a key that cannot be decoded, or of a missing key. -#}
{% macro error_kind_expr() -%}
case
        when _error_key is null then 'value'
        when _error_key = 'null' then 'null_key'
        else 'key'
    end
{%- endmacro %}
