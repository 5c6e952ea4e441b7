{#-
    The options of a collection, with their defaults: what `meta: {trueup: {...}}` of the
    folder or the model says. The one place where options are read and checked.

    `allowed` is a list of values, or one of `boolean`, `integer`, `positive integer`,
    `expression`, `name`, `list`, `schedule`, `count or share`, `always, never, or a positive integer`.
    An option whose default is none may stay unset. `of` says which collections have it, where not
    all do: those by commands, or those by a select.
-#}
{% macro _option_rules() -%}
    {{ return({
        'as_of': {'default': none, 'allowed': 'integer'},
        'eager': {'default': false, 'allowed': 'boolean', 'of': 'commands'},
        'errors': {'default': 'keep', 'allowed': ['keep', 'fail'], 'of': 'commands'},
        'fold': {'default': 'udaf', 'allowed': ['udaf', 'native'], 'of': 'commands'},
        'inline_errors': {'default': none, 'allowed': 'name', 'of': 'commands'},
        'input_upper': {'default': none, 'allowed': 'expression', 'of': 'commands'},
        'late': {'default': 'drop', 'allowed': ['drop', 'correct', 'fail'], 'of': 'commands'},
        'log': {'default': 'complete', 'allowed': ['complete', 'partial'], 'of': 'commands'},
        'maintain': {'default': 'never', 'allowed': 'always, never, or a positive integer'},
        'max_commands_per_batch': {
            'default': none, 'allowed': 'positive integer', 'of': 'commands'
        },
        'max_group_bytes': {'default': 67108864, 'allowed': 'positive integer'},
        'max_retractions': {'default': none, 'allowed': 'count or share'},
        'null_keys': {'default': 'error', 'allowed': ['error', 'value'], 'of': 'commands'},
        'of': {'default': none, 'allowed': 'list', 'of': 'select'},
        'on_conflict': {'default': none, 'allowed': ['fail', 'skip']},
        'on_schema_change': {
            'default': 'append_new_columns', 'allowed': ['append_new_columns', 'fail', 'ignore']
        },
        'refresh': {'default': none, 'allowed': 'schedule', 'of': 'select'},
        'rehydrate': {'default': 'udaf', 'allowed': ['udaf', 'native']},
        'ties': {
            'default': 'hash', 'allowed': ['hash', 'fail', 'prefer_delete', 'prefer_upsert'],
            'of': 'commands'
        },
        'verify': {'default': 'always', 'allowed': 'always, never, or a positive integer'},
    }) }}
{%- endmacro %}


{#-
    The options of the model that is being built, as a dict of every option's value. With the name of
    its `collection` those that it does not have are what they are where nobody sets them: one by a
    select has no log, and always corrects itself.
-#}
{% macro _options(collection=none) -%}
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
    {%- set is_select = collection is not none and trueup._is_by_select(collection) -%}
    {%- for name, rule in rules.items() -%}
        {%- set is_unread = is_select and rule.get('of') == 'commands' -%}
        {%- set value = rule.default if is_unread else given.get(name, rule.default) -%}
        {%- do options.update({name: value}) -%}
        {%- set is_of_select = rule.get('of') == 'select' -%}
        {%- if collection is not none and not is_select and is_of_select and name in given -%}
            {%- do trueup._refuse(
                'Option `' ~ name ~ '` in `meta.trueup` of ' ~ model.name,
                'of a collection by a select (with a model ' ~ collection ~ '_desired)',
                given[name]
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if is_select -%}
        {%- do options.update({'late': 'correct'}) -%}
    {%- endif -%}
    {%- if collection is not none and options.on_conflict is none -%}
        {%- do options.update({'on_conflict': 'skip' if is_select else 'fail'}) -%}
    {%- endif -%}
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
    {%- elif allowed == 'list' -%}
        {%- if value is string or value is mapping or value is not iterable or value | length -%}
            {%- do trueup._require_list(subject, value) -%}
        {%- endif -%}
    {%- elif allowed == 'count or share' -%}
        {%- if not (value is integer and value >= 0 or value is float and 0 <= value <= 1) -%}
            {%- do trueup._refuse(
                subject, 'a count of rows, such as 1000, or a share of them, such as 0.1', value
            ) -%}
        {%- endif -%}
    {%- elif allowed == 'schedule' -%}
        {%- do trueup.get_schedule(value) -%}
    {%- elif allowed.startswith('always') -%}
        {%- if value not in ['always', 'never'] and not (value is integer and value > 0) -%}
            {%- do trueup._refuse(subject, allowed, value) -%}
        {%- endif -%}
    {%- elif allowed == 'boolean' -%}
        {%- if value is not boolean -%}
            {%- do trueup._refuse(subject, 'true or false', value) -%}
        {%- endif -%}
    {%- elif not trueup._is_bigint(value) -%}
        {%- do trueup._refuse(subject, 'of the type ' ~ allowed, value) -%}
    {%- elif allowed == 'positive integer' and value < 1 -%}
        {%- do trueup._refuse(subject, 'of the type ' ~ allowed, value) -%}
    {%- endif -%}
{%- endmacro %}


{#- Whether a value is an integer that fits into a bigint, as all ticks do. -#}
{% macro _is_bigint(value) -%}
    {{ return(value is integer and -9223372036854775808 <= value <= 9223372036854775807) }}
{%- endmacro %}


{#-
    The value of a var of trueup, checked: the tick of `trueup_until`, the plan of
    `trueup_approve`, or the switch of another.
-#}
{% macro _var(name) -%}
    {%- set value = var(name, none if name in ['trueup_until', 'trueup_approve'] else false) -%}
    {%- if name == 'trueup_until' -%}
        {%- if value is not none and not trueup._is_bigint(value) -%}
            {%- do trueup._refuse('Var `' ~ name ~ '`', 'an integer, or null for no cap', value) -%}
        {%- endif -%}
    {%- elif name == 'trueup_approve' -%}
        {%- if value is not none and value is not string -%}
            {%- do trueup._refuse('Var `' ~ name ~ '`', 'the plan of a staged batch, such as plan-0123456789abcdef', value) -%}
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
