{#-
    The properties that only a changelog has. It is partitioned by `_kind`, so Iceberg would send all updates of a
    batch to one task. A compaction may then delete rows of a file in two tasks: Iceberg 1.12 joins what they
    have deleted.
-#}
{% macro _changelog_properties(collection) -%}
    {%- set properties = {} -%}
    {%- do properties.update(trueup._made_with_properties(
        'trueup.unique_key', trueup._column_list(collection.unique_key)
    )) -%}
    {%- do properties.update(trueup._made_with_properties('trueup.order', collection.order_type)) -%}
    {%- do properties.update(trueup._range_properties(collection.unique_key, collection.command_columns)) -%}
    {%- if trueup._file_format() == 'iceberg' -%}
        {%- do properties.update({'write.merge.distribution-mode': 'none'}) -%}
    {%- endif -%}
    {{ return(properties) }}
{%- endmacro %}


{#- Creates a table with its schema if it is missing, and registers it with dbt. -#}
{% macro _ensure_table(relation, select, partition_by=none, own_properties=none) -%}
    {%- do adapter.create_schema(relation) -%}
    {%- do run_query(trueup._create_table_sql(
        relation, select, partition_by=partition_by, own_properties=own_properties
    )) -%}
    {%- do adapter.cache_added(relation) -%}
{%- endmacro %}


{#- A changelog without a batch: the columns, and no rows. -#}
{% macro _empty_changelog_select(commands, unique_key, columns) -%}
select
    {{ trueup._key_and_value_terms(unique_key, columns) }},
    _error,
    _error_key,
    _ts,
    cast(null as int) as _diff,
    cast(null as string) as _cause,
    cast(null as string) as _kind,
    cast(null as bigint) as _seq,
    cast(null as bigint) as _lower,
    cast(null as bigint) as _upper,
    cast(null as string) as _batch_id,
    cast(null as {{ trueup._statistics_type() }}) as _statistics,
    cast(null as {{ trueup._certificate_type() }}) as _certificate
from {{ commands }}
where false
{%- endmacro %}


{#- A state that has applied no batch: only its progress row. -#}
{% macro _unapplied_state_select(changelog, unique_key, columns) -%}
select
    {{ trueup._key_and_value_terms(unique_key, columns) }},
    _error,
    _error_key,
    _ts,
    'progress' as _kind,
    cast(0 as bigint) as _seq,
    _upper
from (values (0)) as genesis
left join {{ changelog }} on false
{%- endmacro %}


{#-
    The key and then the value columns for a select. A varchar, which Spark describes as a string, becomes one: a
    Delta table would take over its length, and no longer accept what the log accepts later.
-#}
{% macro _key_and_value_terms(unique_key, columns) -%}
    {%- set types, terms = {}, [] -%}
    {%- for column in columns -%}
        {%- do types.update({column.name: column.type}) -%}
    {%- endfor -%}
    {%- for name in unique_key + trueup._value_names(columns, unique_key) -%}
        {%- set quoted = trueup._quoted(name) -%}
        {%- do terms.append(
            'cast(' ~ quoted ~ ' as string) as ' ~ quoted if types.get(name) == 'string' else quoted
        ) -%}
    {%- endfor -%}
    {{ return(terms | join(',\n    ')) }}
{%- endmacro %}
