{#-
    The options of a collection, with their defaults. The folder or the model sets them in `meta: {trueup:
    {...}}`. Options are read and checked only here.

    `allowed` is a list of values, or one of `boolean`, `integer`, `positive integer`, `expression`, `name`,
    `list`, `schedule`, `count or share`, `ticks or a time`, or a text such as `always, never, or a positive
    integer`. An option whose default is none may stay unset. If only some collections have an option, `of` says
    which: those by commands, or those by a select.
-#}
{% macro _option_rules() -%}
    {{ return({
        'as_of': {'default': none, 'allowed': 'integer'},
        'compare': {
            'default': 'never', 'allowed': 'always, never, or a positive integer', 'of': 'commands'
        },
        'eager': {'default': false, 'allowed': 'boolean', 'of': 'commands'},
        'errors': {'default': 'keep', 'allowed': ['keep', 'fail'], 'of': 'commands'},
        'first_batch': {
            'default': 'history', 'allowed': ['history', 'snapshot'], 'of': 'commands'
        },
        'fold': {'default': 'udaf', 'allowed': ['udaf', 'native'], 'of': 'commands'},
        'inline_errors': {'default': none, 'allowed': 'name', 'of': 'commands'},
        'input_upper': {'default': none, 'allowed': 'expression', 'of': 'commands'},
        'late': {
            'default': 'drop', 'allowed': ['drop', 'correct', 'newest', 'fail'], 'of': 'commands'
        },
        'log': {'default': 'complete', 'allowed': ['complete', 'partial'], 'of': 'commands'},
        'maintain': {'default': 'never', 'allowed': 'always, never, or a positive integer'},
        'max_commands_per_batch': {
            'default': none, 'allowed': 'positive integer', 'of': 'commands'
        },
        'max_group_bytes': {'default': 67108864, 'allowed': 'positive integer'},
        'max_retractions': {'default': none, 'allowed': 'count or share'},
        'null_keys': {'default': 'error', 'allowed': ['error', 'value'], 'of': 'commands'},
        'of': {'default': none, 'allowed': 'list', 'of': 'select'},
        'on_conflict': {'default': none, 'allowed': ['fail', 'skip', 'retry']},
        'on_schema_change': {
            'default': 'append_new_columns', 'allowed': ['append_new_columns', 'fail', 'ignore']
        },
        'refresh': {'default': none, 'allowed': 'schedule', 'of': 'select'},
        'rehydrate': {'default': 'udaf', 'allowed': ['udaf', 'native']},
        'ties': {
            'default': 'hash', 'allowed': ['hash', 'fail', 'prefer_delete', 'prefer_upsert'],
            'of': 'commands'
        },
        'tombstones': {'default': 'forever', 'allowed': 'ticks or a time', 'of': 'commands'},
        'verify': {
            'default': 'always', 'allowed': 'always, content, never, or a positive integer'
        },
    }) }}
{%- endmacro %}


{#-
    The options of the model that is being built, as a dict with the value of every option. With the name of
    its `collection`, options that the collection does not have keep their defaults. A collection by a
    select has no log, and always corrects itself.
-#}
{% macro _options(collection=none) -%}
    {%- set rules = trueup._option_rules() -%}
    {%- set given = trueup._given_options(config.get('meta')) -%}
    {%- if given is not mapping -%}
        {%- do trueup._raise_error(
            '`meta.trueup` of ' ~ model.name, 'a mapping of options', given,
            'Write one line `<option>: <value>` for each option below `trueup:`.'
        ) -%}
    {%- endif -%}
    {#- `on_schema_change` is a config of dbt, too. -#}
    {%- for name in rules if name in model.config and name != 'on_schema_change' -%}
        {%- do trueup._raise_error(
            'Option `' ~ name ~ '` of ' ~ model.name, 'in `meta.trueup`, where trueup looks for its options',
            '`' ~ name ~ '` beside `meta` in the config',
            'Move it: meta: {trueup: {' ~ name ~ ': ...}}.'
        ) -%}
    {%- endfor -%}
    {%- for name, value in given.items() -%}
        {%- if name not in rules -%}
            {%- do trueup._raise_option_error(none, 'one of ' ~ (rules | sort | join(', ')), name) -%}
        {%- endif -%}
        {%- do trueup._require_option(name, rules[name].allowed, value) -%}
    {%- endfor -%}
    {%- set is_by_select = collection is not none and trueup._is_by_select(collection) -%}
    {%- set options = trueup._with_defaults(given, is_by_select) -%}
    {%- for name, rule in rules.items() if rule.get('of') == 'select' and name in given -%}
        {%- if collection is not none and not is_by_select -%}
            {%- do trueup._raise_option_error(
                name, 'left out: only a collection by a SELECT (a model ' ~ collection ~ '_desired) has it',
                given[name]
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if is_by_select -%}
        {%- do options.update({'late': 'correct'}) -%}
    {%- endif -%}
    {%- if options.eager and options.first_batch == 'snapshot' -%}
        {%- do trueup._raise_option_error(
            'first_batch', 'history, because `eager` is true', options.first_batch
        ) -%}
    {%- endif -%}
    {%- if options.eager and options.late == 'newest' -%}
        {%- do trueup._raise_option_error(
            'late', 'drop, correct or fail, because `eager` is true', options.late
        ) -%}
    {%- endif -%}
    {%- if collection is not none -%}
        {%- do trueup._require_retryable(options) -%}
        {%- do options.update({'on_conflict': trueup._on_conflict(options, is_by_select)}) -%}
    {%- endif -%}
    {{ return(options) }}
{%- endmacro %}


{#-
    The options of another model of the collection, the one with this `role`, with their defaults. They are not checked
    here: that model checks them.
-#}
{% macro _sibling_options(collection, role) -%}
    {%- set node = graph.nodes.get(trueup._model_id(collection.name ~ '_' ~ role), {}) -%}
    {{ return(trueup._with_defaults(
        trueup._given_options(node.get('config', {}).get('meta')), collection.is_by_select
    )) }}
{%- endmacro %}


{#- The same for a macro that belongs to no model: a collection of the project comes before one of a package. -#}
{% macro _options_of(collection, role, is_by_select=false) -%}
    {%- set given = {} -%}
    {%- for node in trueup._enabled_models(collection ~ '_' ~ role) -%}
        {%- do given.update(trueup._given_options(node.config.meta)) -%}
    {%- endfor -%}
    {{ return(trueup._with_defaults(given, is_by_select)) }}
{%- endmacro %}


{#-
    Raises if only one of the models that compare and that stage has the option `late: correct`. Late commands would
    have no effect, and no message would say so.
-#}
{% macro _require_same_late(collection) -%}
    {%- set name, late = collection.name, collection.options.late -%}
    {%- if not collection.is_by_select and trueup._model_id(name ~ '_corrections') in graph.nodes -%}
        {%- set compared = trueup._sibling_options(collection, 'corrections').late -%}
        {%- if late != compared and 'correct' in [late, compared] -%}
            {%- do trueup._raise_error(
                'Option `late` of ' ~ name ~ '_corrections', 'that of ' ~ name ~ '_batch: ' ~ late, compared,
                'Set it once, for the folder. If a model has a `trueup` of its own in `meta`, this replaces the one of'
                ~ ' the folder: write all options there.'
            ) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}


{#- The options that a model's config `meta` gives. They may be wrong: only `_options` checks them. -#}
{% macro _given_options(meta) -%}
    {{ return((meta or {}).get('trueup') or {}) }}
{%- endmacro %}


{#-
    The options that are given, with the defaults of the others, as another dict. A collection by a select does not
    read the options of a log, so they keep their defaults.
-#}
{% macro _with_defaults(given, is_by_select) -%}
    {%- set options = {} -%}
    {%- for name, rule in trueup._option_rules().items() -%}
        {%- set is_unread = is_by_select and rule.get('of') == 'commands' -%}
        {%- do options.update({name: rule.default if is_unread else given.get(name, rule.default)}) -%}
    {%- endfor -%}
    {{ return(options) }}
{%- endmacro %}


{#- The option `on_conflict`, or its default. -#}
{% macro _on_conflict(options, is_by_select) -%}
    {%- if options.on_conflict is not none -%}
        {{ return(options.on_conflict) }}
    {%- elif is_by_select -%}
        {{ return('skip') }}
    {%- elif options.late != 'correct' and trueup._var('trueup_retry') -%}
        {{ return('retry') }}
    {%- endif -%}
    {{ return('fail') }}
{%- endmacro %}
