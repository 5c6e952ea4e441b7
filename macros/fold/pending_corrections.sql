{#-
    The corrections that were found after the last batch. If a column was widened from date to
    timestamp since then, its values are converted.
-#}
{% macro _pending_corrections_select(collection, columns) -%}
    {%- set plan = trueup._session_name(collection.name, 'plan') -%}
select
    {% for column in columns | selectattr('name', 'in', collection.unique_key) -%}
    {{ trueup._quoted(column.name) }},
    {% endfor -%}
    _error_key,
    -- Use the tick of the comparison, but none after this batch. If it settles no tick, use its lower.
    least(_ts, greatest({{ plan }}.lower, {{ plan }}.upper - 1)) as _ts,
    _cause,
    case when _desired is not null then named_struct(
        {%- for column in columns | rejectattr('name', 'in', collection.unique_key) %}
        {%- set desired = '_desired.' ~ trueup._quoted(column.name) %}
        {{ trueup._literal(column.name) }}, {{
            trueup._utc_timestamp_expr(desired) if column.type == 'timestamp' else desired
        }},
        {%- endfor %}
        '_error', _desired._error
    ) end as _value
from {{ collection.corrections }}
where _after_batch_id <=> {{ plan }}.last_batch_id and {{ trueup._is_for_batch_expr() }}
{%- endmacro %}


{#-
    Raises if the waiting corrections lack a value column: the log has got it since they were found. Nobody knows its
    value for their keys.
-#}
{% macro _require_columns_of_corrections(collection, columns) -%}
    {%- set corrections = collection.corrections -%}
    {%- set there = trueup._get_columns('select _desired.* from ' ~ corrections)
        | map(attribute='name') | map('lower') | list -%}
    {%- set missing = [] -%}
    {%- for name in trueup._value_names(columns, collection.unique_key) if name | lower not in there -%}
        {%- do missing.append(name) -%}
    {%- endfor -%}
    {%- if missing -%}
        {%- do trueup._raise_error(
            'The corrections in ' ~ corrections, 'rows with the columns of the changelog',
            'rows without ' ~ (missing | join(', ')) ~ ', which the log has got since they were found',
            'Nothing is staged. Find them again: dbt run -s ' ~ collection.name ~ '_corrections+.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
