{#-
    Raises unless the macro of a role is called from the model that has this role in `collection`,
    and the model's options are good.
-#}
{% macro _require_role(role, collection) -%}
    {%- if collection is not string or not collection.strip() -%}
        {%- do trueup._refuse(
            trueup._argument(role, 'collection'), 'the name of a collection', collection
        ) -%}
    {%- endif -%}
    {%- set expected = collection if role == 'collection' else collection ~ '_' ~ role -%}
    {%- do trueup._options(collection if execute else none) -%}
    {%- if model.name != expected -%}
        {%- do trueup._refuse(
            '`trueup.' ~ role ~ "('" ~ collection ~ "')`",
            'called from the model ' ~ expected, model.name
        ) -%}
    {%- endif -%}
{%- endmacro %}
