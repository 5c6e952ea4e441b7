{#-
    What people read besides the rows of a collection. Each is the body of a model of its own. See the YAML beside this file.
    `collection` is the name of its model, or `ref` of it.
-#}

{#-
    The updates of a collection, one row each. With `append_only` the model becomes a table that each run only appends to,
    for those who stream it: see `changelog_table.sql`.
-#}
{% macro changelog(collection, append_only=false) -%}
    {{- config(materialized='trueup_changelog' if append_only else 'view') -}}
{{ trueup._changelog_select(trueup._collection_relation('changelog', collection)) }}
{%- endmacro %}


{#- The keys that are broken now, and the reasons, one row per broken key. -#}
{% macro errors(collection) -%}
    {{- config(materialized='view') -}}
{{ trueup._errors_select(trueup._collection_relation('errors', collection)) }}
{%- endmacro %}


{#- The rows as they were at the end of the tick `ts`: an integer or an SQL expression of one. -#}
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


{#- Each version that a row has had, with the ticks from which and to which it was valid (SCD type 2). -#}
{% macro history(collection) -%}
{{ trueup._versions_select(trueup._collection_relation('history', collection)) }}
{%- endmacro %}


{#- Desired minus persisted, now: what a repair or the next run would change, and why. -#}
{% macro corrections(collection) -%}
    {{- config(materialized='view') -}}
    {%- set relation = trueup._collection_relation('corrections', collection) -%}
{{ trueup._get_corrections_select(relation) if execute and flags.INTROSPECT else trueup._no_corrections_select(relation) }}
{%- endmacro %}


{#- The rows as they would be if everything were settled now, for a collection with ticks. The model is a view or a table. -#}
{% macro live(collection) -%}
    {%- set relation = trueup._collection_relation('live', collection) -%}
{{ trueup._get_live_select(relation) if execute and flags.INTROSPECT else trueup._no_live_select(relation) }}
{%- endmacro %}


{#-
    The commands, unchanged; in a unit test of dbt the rows that they give. `commands` is the text of a call such as
    `trueup.commands(...)`, and `keys` are the key columns.
-#}
{% macro newest(commands, keys) -%}
    {%- do trueup._require_list(trueup._argument('newest', 'keys'), trueup._names(keys)) -%}
{{ trueup._newest_rows_select(commands, trueup._names(keys)) if model.resource_type == 'unit_test' else commands }}
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
