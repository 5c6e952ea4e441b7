{#- Raises if a batch that loses to another run cannot be staged again: its corrections need a new comparison. -#}
{% macro _require_retryable(options) -%}
    {%- if options.on_conflict == 'retry' and options.late == 'correct' -%}
        {%- do trueup._raise_option_error(
            'on_conflict', 'fail or skip, because a batch with corrections cannot be staged again in the'
            ~ ' same run', options.on_conflict
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless `value` is allowed for the option. -#}
{% macro _require_option(name, allowed, value) -%}
    {%- if allowed is not string -%}
        {%- if value not in allowed -%}
            {%- do trueup._raise_option_error(name, 'one of ' ~ (allowed | join(', ')), value) -%}
        {%- endif -%}
    {%- elif allowed in ['expression', 'name'] -%}
        {%- if value is not string or not value.strip() -%}
            {%- set must = {'expression': 'an SQL expression', 'name': 'the name of a column'} -%}
            {%- do trueup._raise_option_error(name, must[allowed], value) -%}
        {%- endif -%}
    {%- elif allowed == 'list' -%}
        {%- if value is string or value is mapping or value is not iterable or value | length -%}
            {%- do trueup._require_list(
                'Option `' ~ name ~ '` in `meta.trueup` of ' ~ model.name, value,
                next_step=trueup._config_next_step()
            ) -%}
        {%- endif -%}
    {%- elif allowed == 'count or share' -%}
        {%- if not (value is integer and value >= 0 or value is float and 0 <= value <= 1) -%}
            {%- do trueup._raise_option_error(
                name, 'a count of rows, such as 1000, or a share of them, such as 0.1', value
            ) -%}
        {%- endif -%}
    {%- elif allowed == 'ticks or a time' -%}
        {%- if value != 'forever' -%}
            {%- do trueup._tombstone_ticks(value) -%}
        {%- endif -%}
    {%- elif allowed == 'schedule' -%}
        {%- do trueup._schedule(value) -%}
    {%- elif allowed.startswith('always') -%}
        {%- if value not in allowed.split(', ')[:-1] and not (value is integer and value > 0) -%}
            {%- do trueup._raise_option_error(name, allowed, value) -%}
        {%- endif -%}
    {%- elif allowed == 'boolean' -%}
        {%- if value is not boolean -%}
            {%- do trueup._raise_option_error(name, 'true or false', value) -%}
        {%- endif -%}
    {%- elif not trueup._is_bigint(value) or allowed == 'positive integer' and value < 1 -%}
        {%- do trueup._raise_option_error(
            name, 'an integer' if allowed == 'integer' else 'a positive integer', value
        ) -%}
    {%- endif -%}
{%- endmacro %}
