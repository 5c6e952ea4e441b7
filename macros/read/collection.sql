{#- The collection as a view for analysts: exactly the key and value columns of its rows. -#}
{% macro collection(collection) -%}
    {{- config(materialized='view') -}}
    {%- do trueup._require_role('collection', collection) -%}
select * except (_error, _error_key, _ts, _kind, _seq, _upper)
from {{ ref(collection ~ '_state') }}
where _kind = 'row'
{%- endmacro %}
