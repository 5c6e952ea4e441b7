{#- A changelog without a batch and a state that has applied none, as selects. -#}

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
    The key and then the value columns for a select. A varchar, which Spark describes as a string, becomes one, also
    inside a struct or an array: a Delta table would take over its length, and no longer accept what the log accepts
    later. A column is never named alone: a new table would take over its default, which Delta refuses.
-#}
{% macro _key_and_value_terms(unique_key, columns) -%}
    {%- set types, terms = {}, [] -%}
    {%- for column in columns -%}
        {%- do types.update({column.name: column.type}) -%}
    {%- endfor -%}
    {%- for name in unique_key + trueup._value_names(columns, unique_key) -%}
        {%- set quoted = trueup._quoted(name) -%}
        {%- set type = types.get(name, '') -%}
        {%- do terms.append(
            'cast(' ~ quoted ~ ' as ' ~ trueup._sql_type(type) ~ ') as ' ~ quoted
            if 'string' in type and 'collate' not in type else 'coalesce(' ~ quoted ~ ') as ' ~ quoted
        ) -%}
    {%- endfor -%}
    {{ return(terms | join(',\n    ')) }}
{%- endmacro %}
