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
        rows, trueup._desired_rows_select(desired, collection.unique_key, columns)
    ) -%}
    {{ return(rows) }}
{%- endmacro %}


{#-
    The rows of the relation `desired`, which has these `columns`, in the form of commands, as a select. The key
    columns get the names of the config, because Spark ignores upper and lower case. If there is a column
    `_error`, it says which of the rows are bad.
-#}
{% macro _desired_rows_select(desired, unique_key, columns) -%}
    {%- set has_errors = trueup._errors_of_select(columns) | length > 0 -%}
select
    {{ trueup._column_list(unique_key) }},
    {{ trueup._all_but_list(unique_key + (['_error'] if has_errors else [])) }},
    cast(0 as bigint) as _ts,
    null as _order,
    'upsert' as _op,
    cast({{ '_error' if has_errors else 'null' }} as string) as _error,
    cast(null as string) as _error_key
from {{ desired }}
{%- endmacro %}


{#- The column `_error` of a select: a list of one column, or none. -#}
{% macro _errors_of_select(columns) -%}
    {%- set found = [] -%}
    {%- for column in columns if column.name | lower == '_error' -%}
        {%- do found.append(column) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}


{#- Raises if the select lacks a key column, or has a column that trueup does not support. -#}
{% macro _require_select_columns(collection, unique_key, columns) -%}
    {%- set errors = trueup._errors_of_select(columns) -%}
    {%- for column in errors if column.type not in ['string', 'void'] -%}
        {%- do trueup._raise_error(
            collection ~ '_desired: the column `_error`', 'a string, null for a good row', column.type,
            "Write it as a text: case when <the row is bad> then '<what is wrong>' end as _error."
        ) -%}
    {%- endfor -%}
    {%- set columns = columns | reject('in', errors) | list -%}
    {%- set found = columns | map(attribute='name') | list -%}
    {%- if '_error_key' in found | map('lower') -%}
        {%- do trueup._raise_error(
            collection ~ '_desired', 'a select without `_error_key`, because each of its rows has a key',
            '_error_key', 'Leave out rows without a key, or give them one and describe them in `_error`.'
        ) -%}
    {%- endif -%}
    {%- for name in unique_key if name | lower not in found | map('lower') -%}
        {%- do trueup._raise_error(
            collection ~ '_desired: each column of config `unique_key`',
            'a column of the select (' ~ (found | join(', ')) ~ ')', name,
            'Add it to the select, or correct the config in dbt_project.yml.'
        ) -%}
    {%- endfor -%}
    {%- if found | length == unique_key | length -%}
        {%- do trueup._raise_error(
            collection ~ '_desired', 'a select with at least one column beside the key',
            found | join(', '), 'Add a value column to the select.'
        ) -%}
    {%- endif -%}
    {%- do trueup._require_user_columns(columns, collection ~ '_desired') -%}
{%- endmacro %}
