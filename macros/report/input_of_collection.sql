{#-
    The input of a collection, as a dict: `commands`, the view of its commands, none for a SELECT;
    `is_reclocked`, true if they have no ticks; and the options `input_upper`, `as_of`, `of` and `refresh`. While dbt
    parses, nothing is known. `is_deferred` is true if `changelog`, as `ref` gives it, is in another schema by
    `--defer`: then so are the commands.
-#}
{% macro _input_of_collection(collection, changelog=none) -%}
    {%- set input = {
        'commands': none, 'is_reclocked': false, 'input_upper': none, 'as_of': none, 'of': none,
        'refresh': none, 'is_deferred': false
    } -%}
    {%- if not execute -%}
        {{ return(input) }}
    {%- endif -%}
    {%- for model in trueup._enabled_models(collection ~ '_changelog') if model.get('defer_relation') -%}
        {%- do input.update({
            'is_deferred': trueup._relation_of_node(model.defer_relation) ~ '' == changelog ~ ''
        }) -%}
    {%- endfor -%}
    {%- for model in trueup._enabled_models(collection ~ '_commands') -%}
        {%- do input.update({
            'commands': trueup._relation_of_node(model.defer_relation if input.is_deferred else model),
            'is_reclocked': (model.config.meta or {}).get('trueup_is_reclocked', false)
        }) -%}
    {%- endfor -%}
    {%- for model in trueup._enabled_models(collection ~ '_batch') -%}
        {%- set options = trueup._given_options(model.config.meta) -%}
        {%- for name in ['input_upper', 'as_of', 'of', 'refresh'] -%}
            {%- do input.update({name: options.get(name)}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(input) }}
{%- endmacro %}
