{#- What `trueup adopt` shows: how a table that trueup did not make differs from its log. -#}

{#-
    Facts that are needed before an adoption, as a dict. `now` is where the table is, `then` is where it must
    be. `is_adopted` says whether the collection has adopted it already. Raises if it cannot be adopted.
-#}
{% macro _get_adoption_facts(collection, table) -%}
    {%- do trueup._require_may_adopt(trueup._options_to_adopt(collection), is_by_select=false) -%}
    {%- do trueup._require_unrun(collection) -%}
    {%- set place = trueup._get_table_to_adopt(collection, table) -%}
    {%- set changelog = trueup._named_relation(collection, collection ~ '_changelog', 'adopt') -%}
    {{ return({
        'now': place.now | string,
        'then': place.then | string,
        'is_adopted': load_relation(changelog) is not none and trueup._get_is_adopted(changelog),
    }) }}
{%- endmacro %}


{#-
    A collection that has not run, as a dict with the fields that the fold of its commands needs. See
    docs/objects.md.
-#}
{% macro _get_collection_to_adopt(collection) -%}
    {%- set unique_key = trueup._key_of_collection(collection) -%}
    {%- set commands = trueup._named_relation(collection, collection ~ '_commands', 'adopt') -%}
    {%- set described = trueup._get_columns('select * from ' ~ commands) -%}
    {{ return(trueup._adopting_collection(dict(
        trueup._keyed_collection(collection, unique_key),
        options=trueup._options_to_adopt(collection),
        commands=commands,
        command_columns=trueup._user_columns(described),
        extras=trueup._extra_columns(described),
    ))) }}
{%- endmacro %}
