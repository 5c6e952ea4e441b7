{#-
    A collection that a SELECT defines. Its model `<collection>_desired` has the rows that the collection
    should have now. The batch is the difference between these rows and the persisted rows. After this
    file, the desired rows are treated like commands of one tick that was never settled.
-#}

{#- Makes the session view `desired_rows`: the rows of the select in the form of commands. -#}
{% macro _ensure_desired_rows_view(collection) -%}
    {%- set desired = trueup._sibling(collection.name, 'desired') -%}
    {%- set columns = trueup._get_columns('select * from ' ~ desired) -%}
    {%- do trueup._require_select_columns(
        collection.name, collection.unique_key, columns
    ) -%}
    {%- set rows = trueup._session_name(collection.name, 'desired_rows') -%}
    {%- do trueup._ensure_session_view(
        rows, trueup._desired_rows_select(desired, collection.unique_key)
    ) -%}
    {{ return(rows) }}
{%- endmacro %}


{#- The key columns get the names of the config, because Spark ignores upper and lower case. -#}
{% macro _desired_rows_select(desired, unique_key) -%}
select
    {{ trueup._column_list(unique_key) }},
    {{ trueup._all_but_list(unique_key) }},
    cast(0 as bigint) as _ts,
    null as _order,
    'upsert' as _op,
    cast(null as string) as _error,
    cast(null as string) as _error_key
from {{ desired }}
{%- endmacro %}


{#- Raises if the select lacks a key column, or has a column that trueup does not support. -#}
{% macro _require_select_columns(collection, unique_key, columns) -%}
    {%- set found = columns | map(attribute='name') | list -%}
    {%- for name in unique_key if name | lower not in found | map('lower') -%}
        {%- do trueup._raise_error(
            collection ~ '_desired: each column of config `unique_key`',
            'a column of the select (' ~ (found | join(', ')) ~ ')', name
        ) -%}
    {%- endfor -%}
    {%- if found | length == unique_key | length -%}
        {%- do trueup._raise_error(
            collection ~ '_desired', 'a select with at least one column beside the key',
            found | join(', ')
        ) -%}
    {%- endif -%}
    {%- do trueup._require_user_columns(columns, collection ~ '_desired') -%}
{%- endmacro %}
