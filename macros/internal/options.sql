{#-
    The options of a collection, with their defaults: what `meta: {trueup: {...}}` of the
    folder or the model says. The one place where options are read and checked.

    `allowed` is a list of values, or one of `boolean`, `integer`, `positive integer`,
    `expression`, `name`, `always, never, or a positive integer`.
    An option whose default is none may stay unset.
-#}
{% macro _option_rules() -%}
    {{ return({
        'as_of': {'default': 0, 'allowed': 'integer'},
        'eager': {'default': false, 'allowed': 'boolean'},
        'errors': {'default': 'keep', 'allowed': ['keep', 'fail']},
        'inline_errors': {'default': none, 'allowed': 'name'},
        'input_upper': {'default': none, 'allowed': 'expression'},
        'late': {'default': 'drop', 'allowed': ['drop', 'correct', 'fail']},
        'log': {'default': 'complete', 'allowed': ['complete', 'partial']},
        'max_commands_per_batch': {'default': none, 'allowed': 'positive integer'},
        'max_group_bytes': {'default': 67108864, 'allowed': 'positive integer'},
        'null_keys': {'default': 'error', 'allowed': ['error', 'value']},
        'on_schema_change': {
            'default': 'append_new_columns', 'allowed': ['append_new_columns', 'fail', 'ignore']
        },
        'ties': {'default': 'hash', 'allowed': ['hash', 'fail', 'prefer_delete', 'prefer_upsert']},
        'rehydrate': {'default': 'udaf', 'allowed': ['udaf', 'native']},
        'verify': {'default': 'always', 'allowed': 'always, never, or a positive integer'},
    }) }}
{%- endmacro %}


{#- The options of the model that is being built, as a dict of every option's value. -#}
{% macro _options() -%}
    {%- set rules = trueup._option_rules() -%}
    {%- set given = (config.get('meta') or {}).get('trueup') or {} -%}
    {%- if given is not mapping -%}
        {%- do trueup._refuse('`meta.trueup` of ' ~ model.name, 'a mapping of options', given) -%}
    {%- endif -%}
    {%- set options = {} -%}
    {%- for name, value in given.items() -%}
        {%- if name not in rules -%}
            {%- do trueup._refuse(
                'Each option in `meta.trueup` of ' ~ model.name,
                'one of ' ~ (rules | sort | join(', ')), name
            ) -%}
        {%- endif -%}
        {%- do trueup._require_option(name, rules[name].allowed, value) -%}
    {%- endfor -%}
    {%- for name, rule in rules.items() -%}
        {%- do options.update({name: given.get(name, rule.default)}) -%}
    {%- endfor -%}
    {{ return(options) }}
{%- endmacro %}


{#- Raises unless `value` is allowed for the option. -#}
{% macro _require_option(name, allowed, value) -%}
    {%- set subject = 'Option `' ~ name ~ '` in `meta.trueup` of ' ~ model.name -%}
    {%- if allowed is not string -%}
        {%- if value not in allowed -%}
            {%- do trueup._refuse(subject, 'one of ' ~ (allowed | join(', ')), value) -%}
        {%- endif -%}
    {%- elif allowed in ['expression', 'name'] -%}
        {%- if value is not string or not value.strip() -%}
            {%- set must = {'expression': 'an SQL expression', 'name': 'the name of a column'} -%}
            {%- do trueup._refuse(subject, must[allowed], value) -%}
        {%- endif -%}
    {%- elif allowed.startswith('always') -%}
        {%- if value not in ['always', 'never'] and not (value is integer and value > 0) -%}
            {%- do trueup._refuse(subject, allowed, value) -%}
        {%- endif -%}
    {%- elif allowed == 'boolean' -%}
        {%- if value is not boolean -%}
            {%- do trueup._refuse(subject, 'true or false', value) -%}
        {%- endif -%}
    {%- elif value is not integer -%}
        {%- do trueup._refuse(subject, 'of the type ' ~ allowed, value) -%}
    {%- elif allowed == 'positive integer' and value < 1 -%}
        {%- do trueup._refuse(subject, 'of the type ' ~ allowed, value) -%}
    {%- endif -%}
{%- endmacro %}


{#- The value of a var of trueup, checked: the tick of `trueup_until`, or the switch of another. -#}
{% macro _var(name) -%}
    {%- set value = var(name, none if name == 'trueup_until' else false) -%}
    {%- if name == 'trueup_until' -%}
        {%- if value is not none and value is not integer -%}
            {%- do trueup._refuse('Var `' ~ name ~ '`', 'an integer, or null for no cap', value) -%}
        {%- endif -%}
    {%- elif value is not boolean -%}
        {%- do trueup._refuse('Var `' ~ name ~ '`', 'true or false', value) -%}
    {%- endif -%}
    {{ return(value) }}
{%- endmacro %}


{#-
    The key columns of the collection, as a list: the `unique_key` of the folder, or else that of the
    collection's commands, which their argument `keys` sets.
-#}
{% macro _unique_key(macro) -%}
    {%- if not execute -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set of_commands = trueup._names(trueup._key_of_commands(macro)) -%}
    {%- set unique_key = trueup._names(config.get('unique_key')) or of_commands -%}
    {%- set subject = 'Config `unique_key` of ' ~ model.name -%}
    {%- if not unique_key -%}
        {%- do trueup._refuse(
            '`trueup.' ~ macro ~ '` in ' ~ model.name ~ ': config `unique_key`',
            'a non-empty list of key columns', 'nothing',
            'Set it once for the folder of the collection: `+unique_key: [...]` in dbt_project.yml.'
        ) -%}
    {%- endif -%}
    {%- do trueup._require_list(subject, unique_key) -%}
    {%- if of_commands and of_commands != unique_key -%}
        {%- do trueup._refuse(
            subject, 'the key of the commands: ' ~ (of_commands | join(', ')),
            unique_key | join(', '),
            'Set it once, for the folder of the collection, and leave out the argument `keys`.'
        ) -%}
    {%- endif -%}
    {{ return(unique_key) }}
{%- endmacro %}


{#- The config `unique_key` of the collection's commands, none where there is no such model. -#}
{% macro _key_of_commands(role) -%}
    {%- set collection = model.name if role == 'collection' else trueup._collection_of(role) -%}
    {%- set name = 'model.' ~ model.package_name ~ '.' ~ collection ~ '_commands' -%}
    {{ return(graph.nodes.get(name, {}).get('config', {}).get('unique_key')) }}
{%- endmacro %}


{#- One name as a list, a list as it is, nothing as an empty list. -#}
{% macro _names(given) -%}
    {{ return([given] if given is string and given else given or []) }}
{%- endmacro %}
