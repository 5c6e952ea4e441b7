{#- The table of the corrections before anything was compared or healed. -#}

{#-
    Makes the table of the corrections if it is missing, without rows: data tests and other models may read it. Only the
    first run of a collection has to ask for the columns.
-#}
{% macro _ensure_corrections_table(collection) -%}
    {%- if load_relation(collection.corrections) is none -%}
        {%- do trueup._ensure_table(
            collection.corrections, trueup._no_corrections_select(trueup._ensure_input(collection)),
            own_properties=trueup._no_comparison()
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The columns of the corrections, and no rows. -#}
{% macro _no_corrections_select(collection) -%}
    {%- set unique_key, columns = collection.unique_key, collection.command_columns -%}
    {%- set value = 'struct(' ~ trueup._column_list(trueup._value_names(columns, unique_key) + ['_error']) ~ ')' -%}
select
    {{ trueup._column_list(unique_key) }},
    _error_key,
    {{ value }} as _persisted,
    {{ value }} as _desired,
    cast(null as string) as _cause,
    cast(null as bigint) as _seq,
    _ts,
    cast(null as string) as _after_batch_id
from (
    {{ trueup._empty_changelog_select(collection.source, unique_key, columns) }}
)
{%- endmacro %}
