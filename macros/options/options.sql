{#- The key and the options of a model with the materialization `trueup`. -#}

{#-
    The options of the model, each with its default: `meta: {trueup: {...}}`. `source` says what the SELECT gives: `log`,
    `ticks` (a log whose commands have ticks), or `select`.
-#}
{% macro _store_options(source) -%}
    {%- set rules = trueup._store_option_rules() -%}
    {%- set given = trueup._given_options(config.get('meta')) -%}
    {%- if given is not mapping -%}
        {%- do trueup._raise_error(
            '`meta.trueup` of ' ~ model.name, 'a mapping of options', given,
            'Write one line `<option>: <value>` for each option below `trueup:`.'
        ) -%}
    {%- endif -%}
    {%- set options = {} -%}
    {%- for name, rule in rules.items() -%}
        {%- do options.update({name: given.get(name, rule.default)}) -%}
    {%- endfor -%}
    {%- for name, value in given.items() -%}
        {%- if name not in rules -%}
            {%- do trueup._raise_option_error(none, 'one of ' ~ (rules | sort | join(', ')), name) -%}
        {%- elif rules[name].get('of') == 'ticks' and source == 'log' -%}
            {%- do trueup._raise_option_error(
                name, 'left out: the commands of ' ~ model.name ~ ' have no ticks (argument `ts` of `trueup.commands`)', value
            ) -%}
        {%- elif 'of' in rules[name] and source == 'select' -%}
            {%- do trueup._raise_option_error(name, 'left out: the SELECT of ' ~ model.name ~ ' gives rows, not commands', value) -%}
        {%- endif -%}
        {%- do trueup._require_option(name, rules[name].allowed, value) -%}
    {%- endfor -%}
    {{ return(dict(options, truncate_scope=trueup._names(options.truncate_scope))) }}
{%- endmacro %}


{#- The options of a collection. Those `of` a log are refused for a SELECT of rows, those `of` ticks also for a log without. -#}
{% macro _store_option_rules() -%}
    {{ return({
        'as_of': {'default': none, 'allowed': 'integer', 'of': 'ticks'},
        'errors': {'default': 'keep', 'allowed': ['keep', 'fail']},
        'input_upper': {'default': none, 'allowed': 'expression', 'of': 'ticks'},
        'late': {'default': 'newest', 'allowed': ['newest', 'correct', 'drop', 'fail'], 'of': 'ticks'},
        'max_commands': {'default': none, 'allowed': 'positive integer', 'of': 'log'},
        'max_retractions': {'default': none, 'allowed': 'count or share'},
        'null_order': {'default': 'error', 'allowed': ['error', 'arrival'], 'of': 'log'},
        'null_keys': {'default': 'error', 'allowed': ['error', 'value'], 'of': 'log'},
        'on_conflict': {'default': 'retry', 'allowed': ['retry', 'fail']},
        'on_schema_change': {
            'default': 'append_new_columns', 'allowed': ['append_new_columns', 'fail', 'ignore']
        },
        'order_epoch': {'default': 0, 'allowed': 'integer', 'of': 'log'},
        'ties': {
            'default': 'error', 'of': 'log',
            'allowed': ['error', 'fail', 'greatest', 'place', 'prefer_delete', 'prefer_upsert'],
        },
        'tombstones': {'default': 'forever', 'allowed': 'forever or an age', 'of': 'log'},
        'truncate_scope': {'default': none, 'allowed': 'key columns', 'of': 'log'},
        'verify': {'default': 'ancestry', 'allowed': 'always, ancestry, or a positive integer'},
    }) }}
{%- endmacro %}


{#- The key columns of the model: its config `unique_key`. -#}
{% macro _unique_key_of_model() -%}
    {%- set key = trueup._names(config.get('unique_key')) -%}
    {%- if not key -%}
        {%- do trueup._raise_error(
            'Config `unique_key` of ' ~ model.name, 'a non-empty list of key columns', 'nothing',
            "Write it in the model: config(materialized='trueup', unique_key=[...])."
        ) -%}
    {%- endif -%}
    {%- do trueup._require_list('Config `unique_key` of ' ~ model.name, key, next_step=trueup._config_next_step()) -%}
    {{ return(key) }}
{%- endmacro %}


{#- A list: of one name for a string, unchanged for a list, empty for nothing. -#}
{% macro _names(given) -%}
    {{ return([given] if given is string and given else given or []) }}
{%- endmacro %}


{#- The options that a model's config `meta` gives. They may be wrong: only `_options` checks them. -#}
{% macro _given_options(meta) -%}
    {{ return((meta or {}).get('trueup') or {}) }}
{%- endmacro %}


{#- Raises unless `value` is allowed for the option. -#}
{% macro _require_option(name, allowed, value) -%}
    {%- if allowed is not string -%}
        {%- if value not in allowed -%}
            {%- do trueup._raise_option_error(name, 'one of ' ~ (allowed | join(', ')), value) -%}
        {%- endif -%}
    {%- elif allowed == 'expression' -%}
        {%- if value is not string or not value.strip() -%}
            {%- do trueup._raise_option_error(name, 'an SQL expression', value) -%}
        {%- endif -%}
    {%- elif allowed == 'key columns' -%}
        {%- set key = trueup._unique_key_of_model() -%}
        {%- if not trueup._names(value) or trueup._names(value) | reject('in', key) | list -%}
            {%- do trueup._raise_option_error(name, 'one or more of the key columns ' ~ (key | join(', ')), value) -%}
        {%- endif -%}
    {%- elif allowed == 'count or share' -%}
        {%- if not (value is integer and value >= 0 or value is float and 0 <= value <= 1) -%}
            {%- do trueup._raise_option_error(
                name, 'a count of rows, such as 1000, or a share of them, such as 0.1', value
            ) -%}
        {%- endif -%}
    {%- elif allowed == 'forever or an age' -%}
        {%- set is_age = trueup._is_bigint(value) and value > 0 or trueup._interval_milliseconds(value) -%}
        {%- if value != 'forever' and not is_age -%}
            {%- do trueup._raise_option_error(
                name, 'forever, a positive number of ticks, or an age such as `30 days` (in '
                ~ (trueup._interval_units() | join('s, ')) ~ 's)', value
            ) -%}
        {%- endif -%}
    {%- elif allowed == 'positive integer' -%}
        {%- if not trueup._is_bigint(value) or value < 1 -%}
            {%- do trueup._raise_option_error(name, 'a positive integer', value) -%}
        {%- endif -%}
    {%- elif allowed.startswith('always') -%}
        {%- if value not in allowed.split(', ')[:-1] and not (value is integer and value > 0) -%}
            {%- do trueup._raise_option_error(name, allowed, value) -%}
        {%- endif -%}
    {%- elif not trueup._is_bigint(value) -%}
        {%- do trueup._raise_option_error(name, 'an integer', value) -%}
    {%- endif -%}
{%- endmacro %}


{#- Stops because the value of an option is not allowed. If `name` is none, the option itself is unknown. -#}
{% macro _raise_option_error(name, must, got) -%}
    {%- set option = 'Each option' if name is none else 'Option `' ~ name ~ '`' -%}
    {%- do trueup._raise_error(
        option ~ ' in `meta.trueup` of ' ~ model.name, must, got,
        trueup._config_next_step()
    ) -%}
{%- endmacro %}
