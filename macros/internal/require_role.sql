{#-
    Raises unless the macro of a role is called from the model with this role in `collection`, the options
    of the model are valid, and the run covers all rows.
-#}
{% macro _require_role(role, collection) -%}
    {%- do trueup._require_no_unit_test(role) -%}
    {%- do trueup._require_whole_run() -%}
    {%- if collection is not string or not collection.strip() -%}
        {%- do trueup._raise_error(
            trueup._argument(role, 'collection'), 'the name of a collection', collection
        ) -%}
    {%- endif -%}
    {%- set expected = collection if role == 'collection' else collection ~ '_' ~ role -%}
    {%- do trueup._options(collection if execute else none) -%}
    {%- do trueup._require_one_source(collection) -%}
    {%- if model.name != expected -%}
        {%- do trueup._raise_error(
            '`trueup.' ~ role ~ "('" ~ collection ~ "')`",
            'called from the model ' ~ expected, model.name,
            'Rename the file, or give the name of the collection that it belongs to.'
        ) -%}
    {%- elif execute -%}
        {%- do trueup._require_lower_case(this) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Raises if the table of a model has capital letters in its name or schema. dbt-spark looks for a table in lower case
    unless quoting is on, and does not find it again.
-#}
{% macro _require_lower_case(relation) -%}
    {%- for part in ['schema', 'identifier'] -%}
        {%- set name = relation[part] -%}
        {%- if name != name | lower and not relation.quote_policy[part] -%}
            {%- do trueup._raise_error(
                'The ' ~ ('schema' if part == 'schema' else 'name') ~ ' of the table of ' ~ model.name,
                'in lower case, because dbt-spark does not find the table again', name,
                'Nothing is made. Rename it, or set `' ~ ('schema' if part == 'schema' else 'alias')
                ~ '` to a name in lower case.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- Raises if a collection is made both by commands and by a select, or by a select that is no table or view. -#}
{% macro _require_one_source(collection) -%}
    {%- set id = trueup._model_id(collection) -%}
    {%- if execute and graph.nodes.get(id ~ '_desired', {}).get('config', {}).get('materialized') == 'ephemeral' -%}
        {%- do trueup._raise_error(
            'The model ' ~ collection ~ '_desired', 'a view or a table, because several models read it', 'ephemeral',
            'Set its config `materialized` to view or table.'
        ) -%}
    {%- endif -%}
    {%- if execute and id ~ '_commands' in graph.nodes and id ~ '_desired' in graph.nodes -%}
        {%- do trueup._raise_error(
            'The collection `' ~ collection ~ '`', 'made by commands or by a select',
            'both ' ~ collection ~ '_commands and ' ~ collection ~ '_desired',
            'Keep one of the two models.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
