{#-
    The key columns of the collection, as a list: the `unique_key` of the folder. Without one: the
    `unique_key` of the collection's commands, which their argument `keys` sets. In a unit test: `keys`.
-#}
{% macro _unique_key(macro, keys=none) -%}
    {%- if not execute -%}
        {{ return([]) }}
    {%- elif model.resource_type == 'unit_test' -%}
        {{ return(trueup._key_in_unit_test(macro, keys)) }}
    {%- endif -%}
    {%- set of_commands = trueup._names(trueup._key_of_commands(macro)) -%}
    {%- set unique_key = trueup._names(config.get('unique_key')) or of_commands -%}
    {%- set subject = 'Config `unique_key` of ' ~ model.name -%}
    {%- if not unique_key -%}
        {%- do trueup._raise_error(
            '`trueup.' ~ macro ~ '` in ' ~ model.name ~ ': config `unique_key`',
            'a non-empty list of key columns', 'nothing',
            'Set it once for the folder of the collection: `+unique_key: [...]` in dbt_project.yml. If `trueup'
            ~ ' init` wrote the models: `unique_key: [...]` in their YAML file.'
        ) -%}
    {%- endif -%}
    {%- do trueup._require_list(subject, unique_key, next_step=trueup._config_next_step()) -%}
    {%- if of_commands and of_commands != unique_key -%}
        {%- do trueup._raise_error(
            subject, 'the key of the commands: ' ~ (of_commands | join(', ')),
            unique_key | join(', '),
            'Make both the same. Only unit tests need the argument `keys` of `trueup.commands`.'
        ) -%}
    {%- endif -%}
    {{ return(unique_key) }}
{%- endmacro %}


{#- The config `unique_key` of the collection's commands; none if there is no such model. -#}
{% macro _key_of_commands(role) -%}
    {%- set collection = model.name if role == 'collection' else trueup._collection_of(role) -%}
    {%- set commands = graph.nodes.get(trueup._model_id(collection ~ '_commands'), {}) -%}
    {{ return(commands.get('config', {}).get('unique_key')) }}
{%- endmacro %}


{#- A list: of one name for a string, unchanged for a list, empty for nothing. -#}
{% macro _names(given) -%}
    {{ return([given] if given is string and given else given or []) }}
{%- endmacro %}
