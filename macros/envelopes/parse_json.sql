{#-
    An SQL expression that reads a JSON object: a struct of `value`, `error` and `absent`. See the YAML beside this file. SQL has
    no `let`: here and below, a `transform` over an array with one item binds a variable.
-#}
{% macro parse_json(text, schema) -%}
    {%- do trueup._require_expression('parse_json', 'text', text) -%}
    {%- do trueup._require_schema('parse_json', schema) -%}
    {%- set fields = 'case when ' ~ trueup._is_pair_expr('_read.pair', '_read.text') ~ " then try_variant_get(_read.pair, '$[0]', 'map<string, variant>') end" -%}
get(transform(transform(transform(transform(
    array(nullif(cast({{ text }} as string), 'null')),
    _text -> named_struct('text', _text, 'pair', {{ trueup._json_pair_expr('_text') }})
), _read -> named_struct(
    'text', _read.text,
    'is_object', coalesce({{ trueup._is_pair_expr('_read.pair', '_read.text') }}, false),
    'cells', {{ trueup._cells_expr(fields, schema) }}
)), _read -> named_struct(
    'text', _read.text, 'is_object', _read.is_object, 'cells', _read.cells, 'value', {{ trueup._values_expr('_read.cells', schema) }}
)), _read -> named_struct(
    'value', _read.value,
    'error', case
        when not _read.is_object then concat('The text must be a JSON object. Got: ', left(_read.text, 100))
        else nullif({{ trueup._errors_expr('_read.cells', '_read.value', schema) }}, '')
    end,
    'absent', {{ trueup._names_expr('_read.cells', 'json is null') }}
)), 0)
{%- endmacro %}


{#-
    A text in an array before another object, as a variant: Spark stops reading after the first value. If the text itself
    closes the array, the other object is not read. JSON is UTF-8; Spark would replace other bytes.
-#}
{% macro _json_pair_expr(text) -%}
    {{ return("try_parse_json(case when is_valid_utf8(" ~ text ~ ") then concat('[', " ~ text ~ ", ', {\"_end\":0}]') end)") }}
{%- endmacro %}


{#- Whether the text of a pair is one JSON object. -#}
{% macro _is_pair_expr(pair, text) -%}
    {{ return(
        '(try_variant_get(' ~ pair ~ ", '$[1]._end', 'int') = 0 and try_variant_get(" ~ pair ~ ", '$[2]', 'variant') is null"
        ~ ' and ' ~ text ~ " rlike '^[ \\\\t\\\\r\\\\n]*[{]')"
    ) }}
{%- endmacro %}


{#-
    The types that a column of JSON may have, and after ` from ` how its values are written, if that is not what JSON would
    say: a date as a number of days, a time as a number of seconds or less, bytes in hex or base64, a decimal as a text of
    digits or, as Kafka Connect does it, as the bytes of an integer in base64.
-#}
{% macro _json_types() -%}
    {%- set times = ['seconds', 'millis', 'micros', 'nanos'] -%}
    {{ return({
        'tinyint': [], 'smallint': [], 'int': [], 'bigint': [], 'float': [], 'double': [], 'decimal': ['base64', 'text'],
        'boolean': [], 'string': times, 'binary': ['base64', 'hex'], 'date': ['days'], 'timestamp': times, 'timestamp_ntz': times,
        'array': [], 'struct': [], 'variant': [],
    }) }}
{%- endmacro %}


{#- Raises unless `schema` is a dict of column names and types. -#}
{% macro _require_schema(macro, schema) -%}
    {%- set subject, types = trueup._argument(macro, 'schema'), trueup._json_types() -%}
    {%- if schema is not mapping -%}
        {%- do trueup._raise_error(subject, "a dict of names and types, {'id': 'bigint', ...}", schema) -%}
    {%- endif -%}
    {%- do trueup._require_list(subject, schema | list) -%}
    {%- for name, type in schema.items() -%}
        {%- if trueup._own_name_like(name) -%}
            {%- do trueup._raise_error(
                subject, "a dict of names other than trueup's own columns, such as " ~ trueup._own_name_like(name), name
            ) -%}
        {%- endif -%}
        {%- set match = modules.re.match(
            '((?:array|struct)<.+>|decimal(?: *[(] *[0-9]+ *(?:, *[0-9]+ *)?[)])?|[a-z_]+)(?: from ([a-z0-9]+))?$', type | string
        ) -%}
        {%- set word = modules.re.match('[a-z_]*', type | string).group() -%}
        {%- set is_bare_part = match and match.group(1) in ['array', 'struct'] -%}
        {%- if not match or word not in types or is_bare_part or match.group(2) not in types[word] + [none] -%}
            {%- do trueup._raise_error(
                subject,
                'a dict whose types are, in lower case, among ' ~ (types | join(', '))
                ~ '; with their parts, as in array<string>, struct<a: int> and decimal(10,2)',
                name ~ ' ' ~ type
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}
