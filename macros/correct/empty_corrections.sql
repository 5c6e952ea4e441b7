{#- The table of the corrections before anything was compared or healed. -#}

{#-
    Makes the table of the corrections if it is missing, without rows: data tests and other models may read it. A rebase
    may have other columns, so it replaces the table (`is_rebase`). Only then, and in the first run of a collection, this
    asks for the columns. Returns whether it has made the table.
-#}
{% macro _ensure_corrections_table(collection, is_rebase) -%}
    {%- set corrections = collection.corrections -%}
    {%- set is_missing = load_relation(corrections) is none -%}
    {%- if not (is_missing or is_rebase) -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set select = trueup._no_corrections_select(trueup._ensure_input(collection)) -%}
    {%- if is_missing -%}
        {%- do trueup._ensure_table(corrections, select, own_properties=trueup._no_comparison()) -%}
    {%- else -%}
        {%- do run_query(trueup._create_table_sql(
            corrections, select, replace=true, own_properties=trueup._no_comparison()
        )) -%}
    {%- endif -%}
    {{ return(true) }}
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
