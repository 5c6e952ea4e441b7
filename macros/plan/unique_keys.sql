{#-
    Each row of a select must be the only one of its key. To look for duplicates on every run would
    cost half of the comparison, so it goes by what is known anyway: a key that is there twice and
    wrong is in the corrections twice; one that is not wrong leaves a row more than they account for.
-#}

{#- Raises where the rows of a select have a key more than once, and shows one. -#}
{% macro _require_unique_keys(collection) -%}
    {%- set message = trueup._get_duplicate_key_message(collection) -%}
    {%- if message is not none -%}
        {%- do exceptions.raise_compiler_error(message) -%}
    {%- endif -%}
{%- endmacro %}


{#- Looks for a key that the rows of a select have more than once: a message, or none. -#}
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
        '; nothing is staged: a row must be the only one of its key'
    ) as message
from {{ rows }}
group by {{ key }}
having count(*) > 1
limit 1
{%- endmacro %}
