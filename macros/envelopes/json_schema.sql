{#-
    The types that a column of JSON may have, each with a regular expression for the JSON that fits
    it. `from_json` alone would turn a number into a text and round a decimal.
-#}
{% macro _json_forms() -%}
    {%- set integer = '^-?[0-9]+$' -%}
    {%- set number = '^(-?[0-9].*|"(NaN|Infinity|-Infinity)")$' -%}
    {%- set text = '^"' -%}
    {#-
        Of a text that begins with no year, such as a time, Spark makes a time of the day on which it is read. After a
        date it reads nothing: PostgreSQL's `0044-03-15 BC` would become a date after Christ.
    -#}
    {%- set date = '^" *[+-]?[0-9]{4,7}-[0-9]{1,2}-[0-9]{1,2}'
        ~ '([T ][0-9:.]*( ?(Z|UTC|GMT|[+-][0-9:]+))?(\\[[^]]*\\])?)? *"$' -%}
    {%- set point_in_time = '^" *[+-]?[0-9]{4,7}-[0-9]' -%}
    {{ return({
        'tinyint': integer, 'smallint': integer, 'int': integer, 'bigint': integer,
        'float': number, 'double': number, 'decimal': integer, 'boolean': '^(true|false)$',
        'string': text, 'binary': text, 'date': date, 'timestamp': point_in_time,
        'timestamp_ntz': point_in_time,
        'array': '^[\\[]', 'struct': '^[{]',
    }) }}
{%- endmacro %}


{#- The form of the JSON that fits a type. A decimal must not have more decimals than its type. -#}
{% macro _json_form(type, binary_format) -%}
    {%- if type == 'binary' and binary_format == 'hex' -%}
        {{ return('^"([0-9a-fA-F]{2})*"$') }}
    {%- endif -%}
    {%- set decimal = modules.re.match('decimal *[(] *[0-9]+ *, *([0-9]+) *[)]$', type) -%}
    {%- if decimal and decimal.group(1) != '0' -%}
        {{ return('^-?[0-9]+([.][0-9]{1,' ~ decimal.group(1) ~ '})?$') }}
    {%- endif -%}
    {{ return(trueup._json_forms()[modules.re.match('[a-z_]*', type).group()]) }}
{%- endmacro %}


{#- Raises unless `schema` is a dict of column names and types. -#}
{% macro _require_schema(macro, schema) -%}
    {%- set subject = trueup._argument(macro, 'schema') -%}
    {%- if schema is not mapping -%}
        {%- do trueup._raise_error(subject, "a dict of names and types, {'id': 'bigint', ...}", schema) -%}
    {%- endif -%}
    {%- do trueup._require_list(subject, schema | list) -%}
    {%- for name, type in schema.items() -%}
        {%- for own in trueup._own_columns() if name.lower().startswith(own) -%}
            {%- do trueup._raise_error(
                subject, "a dict whose names do not begin as trueup's own columns do (" ~ own ~ ')', name
            ) -%}
        {%- endfor -%}
        {%- set form = '(?:(?:array|struct)<.+>|decimal(?: *[(] *[0-9]+ *(?:, *[0-9]+ *)?[)])?|([a-z_]+))$' -%}
        {%- set match = modules.re.match(form, type | string) -%}
        {%- set simple = trueup._json_forms().keys() | reject('in', ['array', 'struct']) -%}
        {%- if not match or match.group(1) is not none and match.group(1) not in simple -%}
            {%- do trueup._raise_error(
                subject,
                'a dict whose types are, in lower case, among ' ~ (trueup._json_forms() | join(', '))
                ~ '; with their parts, as in array<string>, struct<a: int> and decimal(10,2)',
                name ~ ' ' ~ type
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}
