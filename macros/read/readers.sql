{#-
    What people read besides the rows of a collection. Each is the body of a model of its own. See the YAML beside this file.
    `collection` is the name of its model, or `ref` of it.
-#}

{#- The updates of a collection, one row each. -#}
{% macro changelog(collection) -%}
    {{- config(materialized='view') -}}
{{ trueup._changelog_select(trueup._collection_relation('changelog', collection)) }}
{%- endmacro %}


{#- The keys that are broken now, and the reasons, one row per broken key. -#}
{% macro errors(collection) -%}
    {{- config(materialized='view') -}}
{{ trueup._errors_select(trueup._collection_relation('errors', collection)) }}
{%- endmacro %}


{#- The rows as they were at the end of the tick `ts`: an integer, a timestamp or an SQL expression. -#}
{% macro as_of(collection, ts) -%}
{{ trueup._rows_between_select(trueup._collection_relation('as_of', collection), ts) }}
{%- endmacro %}


{#-
    The changes after the tick `from_ts`, up to the end of the tick `to_ts`: key and value columns and `_diff`.
    `as_of(from_ts)` plus these changes is `as_of(to_ts)`.
-#}
{% macro changes_between(collection, from_ts, to_ts) -%}
{{ trueup._rows_between_select(trueup._collection_relation('changes_between', collection), to_ts, from_ts) }}
{%- endmacro %}


{#- The relation of a collection that is given by its name or as a relation. -#}
{% macro _collection_relation(macro, collection) -%}
    {%- if collection is string and collection.strip() -%}
        {{ return(ref(collection)) }}
    {%- elif collection is string or collection is not mapping and collection.identifier is not defined -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, 'collection'), 'the name of a collection, or ref of it', collection
        ) -%}
    {%- endif -%}
    {{ return(collection) }}
{%- endmacro %}
