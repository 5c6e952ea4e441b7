{#-
    The tables of a collection: changelog, staged batch and state. They are made empty and typed
    before anything is written, so that the first run goes the way of every other.
-#}

{#- Makes the changelog, the staged batch and the state where they are missing. -#}
{% macro create_shard(
    commands, changelog, batch, state, unique_key, columns, order_type
) -%}
    {%- if load_relation(changelog) is none -%}
        {%- do trueup._create_sibling(
            changelog,
            trueup.empty_changelog_sql(commands, unique_key, columns),
            partition_by='_kind',
            own_properties={
                'trueup.unique_key': trueup._column_list(unique_key), 'trueup.order': order_type
            }
        ) -%}
        {%- if load_relation(state) is none -%}
            {%- do trueup._create_sibling(
                state, trueup.unapplied_state_sql(changelog, unique_key, columns)
            ) -%}
        {%- endif -%}
    {%- endif -%}
    {%- if load_relation(batch) is none -%}
        {%- do trueup._create_sibling(batch, 'select * from ' ~ changelog ~ ' where false') -%}
    {%- endif -%}
    {%- do trueup.create_state(changelog, state, unique_key) -%}
{%- endmacro %}


{#- Rebuilds the state from the changelog if it is missing. -#}
{% macro create_state(changelog, state, unique_key) -%}
    {%- if load_relation(state) is none -%}
        {%- do trueup.require_sound_changelog(
            changelog, unique_key, trueup.settle_widenings(changelog)
        ) -%}
        {%- do trueup._create_sibling(state, trueup.rehydrate_sql(changelog, unique_key)) -%}
    {%- endif -%}
{%- endmacro %}


{% macro _create_sibling(relation, select, partition_by=none, own_properties=none) -%}
    {%- do adapter.create_schema(relation) -%}
    {%- do run_query(trueup.create_table_sql(
        relation, select, partition_by=partition_by, own_properties=own_properties
    )) -%}
    {%- do adapter.cache_added(relation) -%}
{%- endmacro %}


{% macro drop_shard(changelog, state) -%}
    {%- for relation in [state, changelog] -%}
        {%- do run_query(trueup.drop_table_sql(relation, trueup._file_format())) -%}
        {%- do adapter.cache_dropped(relation) -%}
    {%- endfor -%}
{%- endmacro %}


{#- A changelog without a batch: the shard's columns, no row. -#}
{% macro empty_changelog_sql(commands, unique_key, columns) -%}
select
    {{ trueup._column_list(unique_key) }},
    {% for column in columns if column.name not in unique_key -%}
    {{ trueup._quote(column.name) }},
    {% endfor -%}
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


{#- A state that has applied no batch: its progress row alone. -#}
{% macro unapplied_state_sql(changelog, unique_key, columns) -%}
select
    {{ trueup._column_list(unique_key) }},
    {% for column in columns if column.name not in unique_key -%}
    {{ trueup._quote(column.name) }},
    {% endfor -%}
    _error,
    _error_key,
    _ts,
    'progress' as _kind,
    cast(0 as bigint) as _seq,
    _upper
from (values (0)) as genesis
left join {{ changelog }} on false
{%- endmacro %}
