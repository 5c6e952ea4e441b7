{#- The table of the corrections before anything was compared or healed. -#}

{#-
    Makes the table of the corrections if it is missing, without rows: data tests and other models may read it. Only the
    first run of a collection asks for the columns here. Returns whether it has made the table.
-#}
{% macro _ensure_corrections_table(collection) -%}
    {%- if load_relation(collection.corrections) is not none -%}
        {{ return(false) }}
    {%- endif -%}
    {%- do trueup._ensure_table(
        collection.corrections, trueup._no_corrections_select(trueup._ensure_input(collection)),
        own_properties=trueup._no_comparison_properties()
    ) -%}
    {{ return(true) }}
{%- endmacro %}


{#- Empties the table of the corrections for a rebase, which may have other columns. -#}
{% macro _ensure_no_corrections(collection) -%}
    {%- do run_query(trueup._create_table_sql(
        collection.corrections, trueup._no_corrections_select(collection), replace=true,
        own_properties=trueup._no_comparison_properties()
    )) -%}
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
