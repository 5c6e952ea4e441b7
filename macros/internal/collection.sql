{#-
    The object that describes a collection. It is built once in a model, and never changes. docs/objects.md
    lists the fields.
-#}
{% macro _collection(role) -%}
    {%- set name = trueup._collection_of(role) -%}
    {%- set unique_key = trueup._unique_key(role) -%}
    {{ return({
        'name': name,
        'unique_key': unique_key,
        'identity': unique_key + ['_error_key'],
        'options': trueup._options(name if execute else none),
        'is_by_select': trueup._is_by_select(name),
        'corrections': trueup._sibling(name, 'corrections'),
        'batch': trueup._sibling(name, 'batch'),
        'changelog': trueup._sibling(name, 'changelog'),
        'state': trueup._sibling(name, 'state'),
    }) }}
{%- endmacro %}
