{#-
    Each row of a select must have its own key. A search for duplicates on every run would cost half as much
    as the comparison. So the check uses facts that are already known. A duplicate key with wrong rows is in
    the corrections twice. A duplicate key with correct rows leaves one row more than the corrections
    explain.
-#}

{#- Raises if the rows of a select have a key more than once, and shows one such key. -#}
{% macro _require_unique_keys(collection) -%}
    {%- set message = trueup._get_duplicate_key_message(collection) -%}
    {%- if message is not none -%}
        {%- do exceptions.raise_compiler_error(message) -%}
    {%- endif -%}
{%- endmacro %}


{#- The message of a key that the rows of a select have more than once, or none. -#}
{% macro _get_duplicate_key_message(collection) -%}
    {%- set found = run_query(trueup._duplicate_key_select(
        collection.name, collection.source, collection.unique_key
    )).rows -%}
    {{ return(found[0][0] if found else none) }}
{%- endmacro %}


{#- The select behind `_get_duplicate_key_message`: one row at most. -#}
{% macro _duplicate_key_select(collection, rows, unique_key) -%}
    {%- set key = trueup._column_list(unique_key) -%}
select
    concat(
        {{ trueup._literal('duplicate key: ' ~ collection ~ '_desired has ') }},
        count(*),
        ' rows of the key ',
        left(to_json(struct({{ key }}), map('ignoreNullFields', 'false')), 200),
        '; nothing is staged: each key may have one row, so correct the SELECT'
    ) as message
from {{ rows }}
group by {{ key }}
having count(*) > 1
limit 1
{%- endmacro %}
