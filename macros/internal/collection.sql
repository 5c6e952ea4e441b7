{#-
    The object that describes a collection. It is built once in a model, and never changes. docs/objects.md
    lists the fields.
-#}
{% macro _collection(role) -%}
    {%- set name = trueup._collection_of(role) -%}
    {%- set unique_key = trueup._unique_key(role) -%}
    {{ return(dict(
        trueup._keyed_collection(name, unique_key),
        options=trueup._options(name if execute else none),
        is_by_select=trueup._is_by_select(name),
        corrections=trueup._sibling(name, 'corrections'),
        batch=trueup._sibling(name, 'batch'),
        changelog=trueup._sibling(name, 'changelog'),
        state=trueup._sibling(name, 'state'),
    )) }}
{%- endmacro %}


{#-
    The fields that every description of a collection has, also that of a macro which belongs to none of its models:
    its name, its key, and the columns that identify a row or an error.
-#}
{% macro _keyed_collection(name, unique_key) -%}
    {{ return({'name': name, 'unique_key': unique_key, 'identity': unique_key + ['_error_key']}) }}
{%- endmacro %}
