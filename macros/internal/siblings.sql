{#-
    The relation of another model of the collection, found by name in dbt's graph. The batch reads the
    state, and the state is made from the batch: `ref` does not allow such a cycle. The graph knows alias,
    schema and package, so users may customise all of them.

    `role` is the end of its name: `commands`, `batch`, `changelog`, `state`, `corrections`, `desired`.
-#}
{% macro _sibling(collection, role) -%}
    {%- if not execute -%}
        {{ return(api.Relation.create(schema='parsing', identifier=collection ~ '_' ~ role)) }}
    {%- endif -%}
    {%- set name = collection ~ '_' ~ role -%}
    {%- set node = graph.nodes.get(trueup._model_id(name)) -%}
    {%- if node is none -%}
        {%- do trueup._raise_error(
            'The collection `' ~ collection ~ '`',
            'complete: ' ~ model.name ~ ' needs the model ' ~ name,
            'no enabled model of this name in the package ' ~ model.package_name,
            'Add ' ~ name ~ '.sql with {' ~ '{ trueup.' ~ role ~ "('" ~ collection ~ "') }" ~ '}.'
        ) -%}
    {%- endif -%}
    {{ return(trueup._relation_of_node(node)) }}
{%- endmacro %}


{#-
    `ref` of another model of the collection. The model is in the package of this one: the root project may have a
    collection of the same name.
-#}
{% macro _ref(collection, role) -%}
    {{ return(ref(model.package_name, collection ~ '_' ~ role)) }}
{%- endmacro %}


{#-
    Whether a collection is made by a select, its model `<collection>_desired`, and not by commands. There
    is no graph while dbt parses. Then dbt 1 has the files of the project. dbt 2 has the config of the
    model's folder, with an option that only a select has. See docs/decisions/0010.
-#}
{% macro _is_by_select(collection) -%}
    {%- set name = collection ~ '_desired' -%}
    {%- if execute -%}
        {{ return(trueup._model_id(name) in graph.nodes) }}
    {%- endif -%}
    {%- if builtins.ref.manifest is not defined -%}
        {%- set options = trueup._given_options(model.config.meta) -%}
        {{ return('of' in options or 'refresh' in options) }}
    {%- endif -%}
    {%- for file in builtins.ref.manifest.files.values() -%}
        {%- if file.path.relative_path.split('/')[-1] in [name ~ '.sql', name ~ '.py']
                and file.parse_file_type == 'model' and file.project_name == model.package_name -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{%- endmacro %}


{#- The role of the model that defines the collection: `commands` or `desired`. -#}
{% macro _source_role(collection) -%}
    {{ return('desired' if trueup._is_by_select(collection) else 'commands') }}
{%- endmacro %}


{#- The id in dbt's graph of a model in the package of this model. -#}
{% macro _model_id(name) -%}
    {{ return('model.' ~ model.package_name ~ '.' ~ name) }}
{%- endmacro %}


{#- The collection that a model belongs to: its name without the role. -#}
{% macro _collection_of(role) -%}
    {{ return(model.name[: -(role | length + 1)]) }}
{%- endmacro %}
