{#- The definition of a batch that has adopted a table: no model defines its rows. -#}
{% macro _adopted_definition() -%}
    {{ return('adopted') }}
{%- endmacro %}
