{#-
    The columns of a schema, read from a map of variants in three steps: cells, values and errors. Spark resolves lambdas in
    lambdas one after the other, and it gives up after 100 rounds for a whole statement. So each step is an expression.

    A cell is a struct for each column: `name`; `value`, a variant; its `json`; `text`, the content of a JSON text or else the
    JSON; `is_text`; `is_bare`, whether it may be a number; and `is_marked`, whether it is one of `marks`, a list of SQL
    expressions of texts. `form` says how the source writes values: see `_forms`. `field` has the
    column in the schema of the message.
-#}
{% macro _cells_expr(fields, schema, form={}, marks=none) -%}
    {%- set value, read, decimals = 'element_at(' ~ fields ~ ', _name)', [], [] -%}
    {%- for name, type in schema.items() if type.startswith('decimal') and (form.get('has_units') or 'base64' in type) -%}
        {%- do decimals.append(name) -%}
    {%- endfor -%}
    {%- for tag in form.get('tags') or [] -%}
        {%- do read.append('try_variant_get(' ~ value ~ ", '$." ~ tag ~ "', 'variant')") -%}
    {%- endfor -%}
    {%- if read -%}
        {%- set value = 'coalesce(' ~ (read + [value]) | join(', ') ~ ')' -%}
    {%- endif -%}
transform(transform(
    transform(array({{ trueup._literal_list(schema) }}), _name -> named_struct('name', _name, 'value', {{ value }})),
    _cell -> named_struct('name', _cell.name, 'value', _cell.value, 'json', to_json(_cell.value))
), _cell -> named_struct(
    'name', _cell.name,
    'value', _cell.value,
    'json', _cell.json,
    'text', if(startswith(_cell.json, '"'), try_variant_get(_cell.value, '$', 'string'), _cell.json),
    'is_text', startswith(_cell.json, '"'),
    'is_bare', {{ 'true' if form.get('quoted') or read else "not startswith(_cell.json, '\"')" }},
    {%- if decimals %}
    'hex', case when _cell.name in ({{ trueup._literal_list(decimals) }}) then hex(try_to_binary(
        coalesce(try_variant_get(_cell.value, '$.value', 'string'), try_variant_get(_cell.value, '$', 'string')), 'base64'
    )) end,
    {%- endif %}
    {%- if form.get('has_units') %}
    'field', get(filter(fields, _field -> _field.field = _cell.name), 0),
    {%- endif %}
    'is_marked', {% if marks %}coalesce(
        {#- A text, or what is no text as JSON. #}
        startswith(_cell.json, '"') and try_variant_get(_cell.value, '$', 'string') in ({{ marks | join(', ') }})
        or _cell.json in ({{ marks | join(', ') }}) and _cell.json not rlike '^("|null$)'
        or startswith(_cell.json, '[') and try_variant_get(_cell.value, '$[0]', 'string') in ({{ marks | join(', ') }}),
        false
    ){% else %}false{% endif %}
))
{%- endmacro %}


{#- The struct of the columns that can be read from `cells`; the others are null. -#}
{% macro _values_expr(cells, schema, form={}) -%}
named_struct(
    {%- for name, type in schema.items() %}
    {%- set cell = 'get(' ~ cells ~ ', ' ~ loop.index0 ~ ').' %}
    {{ trueup._literal(name) }}, case when not {{ cell }}is_marked then {{
        trueup._typed_expr(type, form) | replace('_cell.', cell) }} end{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- endmacro %}


{#-
    What is wrong with the columns that could not be read; empty for nothing. With `nullif`, as with `between`, Spark would make
    another projection, not always at the same place. Then the two uses of the fold in the commit would not share a shuffle, and each
    of them would decode all messages.
-#}
{% macro _errors_expr(cells, values, schema, form={}) -%}
concat_ws('; '
    {%- for name, type in schema.items() %}
    {%- set cell = 'get(' ~ cells ~ ', ' ~ loop.index0 ~ ').' %},
    case
        when {{ values }}.{{ trueup._quoted(name) }} is null and {{ cell }}json <> 'null' and not {{ cell }}is_marked then concat(
            {{ trueup._literal('`' ~ name ~ '` must be ' ~ type ~ '. Got: ') }}, left({{ cell }}json, 100)
            {%- if type.startswith('timestamp') and ' from ' not in type %},
            if({{ cell }}json rlike '^-?[0-9]+$', '. Say what it counts, as in `{{ type }} from micros`', '')
            {%- elif type.startswith('decimal') and ' from ' not in type and form.get('has_units') %},
            if({{ cell }}json rlike '^"[0-9]+"$', '. Say how it is written, `{{ type }} from base64` or `from text`', '')
            {%- endif %}
        )
    end
    {%- endfor %}
)
{%- endmacro %}


{#- The names of the cells for which a condition holds. -#}
{% macro _names_expr(cells, condition) -%}
transform(filter({{ cells }}, _cell -> _cell.{{ condition }}), _cell -> _cell.name)
{%- endmacro %}


{#-
    The value of a cell as a type; null if it does not fit the type.
-#}
{% macro _typed_expr(type, form) -%}
    {%- set type, _, from = type.partition(' from ') -%}
    {%- set has_units = form.get('has_units') -%}
    {%- set debezium, connect = 'io.debezium.time.', 'org.apache.kafka.connect.data.' -%}
    {%- set kind = 'Timestamp' if type.startswith('timestamp') else 'Time' -%}
    {%- set integer, number = "_cell.is_bare and _cell.text rlike '^-?[0-9]+$'", 'try_cast(_cell.text as bigint)' -%}
    {#- What a number counts: by the type of the user, or by that in the schema of the message. MongoDB counts milliseconds. -#}
    {%- set names = {
        'seconds': [], 'millis': [debezium ~ kind, connect ~ kind], 'micros': [debezium ~ 'Micro' ~ kind], 'nanos': [debezium ~ 'Nano' ~ kind],
    } -%}
    {%- set forms = {
        'seconds': 'try_multiply({}, 1000000L)', 'millis': 'try_multiply({}, 1000L)', 'micros': '{}',
        'nanos': '({0} - pmod({0}, 1000L)) div 1000L',
    } -%}
    {%- set whens = [] -%}
    {%- for unit, of_unit in names.items() if of_unit and has_units and not from -%}
        {%- do whens.append('when _cell.field.name in (' ~ trueup._literal_list(of_unit) ~ ') then ' ~ forms[unit].format(number)) -%}
    {%- endfor -%}
    {%- set micros = forms[from or 'millis'].format(number) if from in forms or form.get('tags') and not from
        else 'case ' ~ whens | join(' ') ~ ' end' if whens else 'cast(null as bigint)' -%}
    {%- if '<' in type %}
        {#- `from_json` marks in `_bad` that something inside does not fit. A text may have the JSON of a column in it. -#}
get(filter(array(from_json(
            concat('{"_value":', if(_cell.is_text, to_json(try_parse_json(_cell.text)), _cell.json), '}'),
            {{ trueup._literal('_value ' ~ type ~ ', _bad string') }}, map('columnNameOfCorruptRecord', '_bad')
        )), _nested -> _nested._bad is null and startswith(ltrim(_cell.text), '{{ '[' if type.startswith('array') else '{' }}')), 0)._value
    {%- elif type in ['tinyint', 'smallint', 'int', 'bigint'] -%}
case when _cell.is_bare and _cell.text rlike '^-?[0-9]+$' then try_cast(_cell.text as {{ type }}) end
    {%- elif type in ['float', 'double'] -%}
case
            when _cell.text in ('NaN', 'Infinity', '-Infinity') and schema_of_variant(_cell.value) = 'STRING'
                or _cell.is_bare and _cell.text rlike '^-?[0-9]' and abs(cast(try_cast(_cell.text as {{ type }}) as double)) < double('Infinity')
                then try_cast(_cell.text as {{ type }})
        end
    {%- elif type == 'variant' -%}
case when _cell.json <> 'null' then coalesce(if(_cell.is_text and ltrim(_cell.text) rlike '^[{\\[]', try_parse_json(_cell.text), null), _cell.value) end
    {%- elif type == 'boolean' -%}
case when _cell.is_bare and _cell.text rlike '^(true|false|0|1)$' then try_cast(_cell.text as boolean) end
    {%- elif type.startswith('decimal') -%}
{{ trueup._decimal_expr(type, from, has_units) }}
    {%- elif type == 'string' -%}
        {#- An object or array is its JSON. A number is a text only if it is the time of a day, such as `10:30:00.25`. -#}
case
            when _cell.is_text or _cell.json rlike '^[{\\[]' then _cell.text
            {%- if has_units or from %}
            when {{ integer }} then regexp_extract(cast(timestamp_micros({{ micros }}) - timestamp_micros(0L) as string), ' ([0-9:.]+)', 1)
            {%- endif %}
        end
    {%- elif type == 'binary' -%}
        {%- set text = 'case when _cell.is_text then _cell.text' ~ (" else try_variant_get(_cell.value, '$.base64', 'string')" if form.get('tags') else '') ~ ' end' -%}
        {%- if (from or form.get('binary')) == 'hex' -%}
try_to_binary(if({{ text }} rlike '^(\\\\x)?([0-9a-fA-F]{2})*$', replace({{ text }}, '\\x', ''), null), 'hex')
        {%- else -%}
try_to_binary({{ text }}, 'base64')
        {%- endif -%}
    {%- elif type == 'date' -%}
        {#-
            Of a text that begins with no year, such as a time, Spark makes a time of the day on which it is read. After a
            date it reads nothing: PostgreSQL's `0044-03-15 BC` would become a date after Christ.
        -#}
case
            when _cell.is_text and _cell.text rlike '^ *[+-]?[0-9]{4,7}-[0-9]{1,2}-[0-9]{1,2}([T ][0-9:.]*)?( ?(Z|UTC|GMT|[+-][0-9:]+))?(\\[[^]]*\\])? *$'
                then try_cast(_cell.text as date)
            when {{ integer }}{{ " and coalesce(_cell.field.name like '%.Date', true)" if has_units and not from else '' if from else ' and false' }}
                then date_from_unix_date(try_cast(_cell.text as int))
        end
    {%- else -%}
case
            when _cell.is_text and _cell.text rlike '^ *[+-]?[0-9]{4,7}-[0-9]' then try_cast(_cell.text as {{ type }})
            when {{ integer }} then {{
                'timestamp_micros(' ~ micros ~ ')' if type == 'timestamp'
                    else 'timestampadd(microsecond, ' ~ micros ~ ", timestamp_ntz'1970-01-01 00:00:00')"
            }}
        end
    {%- endif -%}
{%- endmacro %}


{#-
    The value of `_cell` as a decimal; null if the type would lose a digit. Kafka Connect writes a decimal as the bytes of a
    whole number in two's complement, in base64, and its schema has the scale. With a scale in each value it is an object.
    A text of digits alone may be both, if there is no schema: then it is null.
-#}
{% macro _decimal_expr(type, from, has_units) -%}
    {%- set digits = "trim(both '0' from regexp_replace({}, '[eE].*|[^0-9]', ''))" -%}
    {#- Three parts of 56 bits. More than 38 digits are null. -#}
    {%- set is_negative = "_cell.hex rlike '^[89A-F]'" -%}
    {%- set part = "cast(conv(substring(lpad(if(" ~ is_negative ~ ", translate(_cell.hex, '0123456789ABCDEF', 'FEDCBA9876543210'), _cell.hex),"
        ~ " 42, '0'), {}, 14), 16, 10) as decimal(38, 0))" -%}
    {%- set sum = 'try_add(try_add(try_multiply(' ~ part.format(1) ~ ', 5192296858534827628530496329220096BD), try_multiply('
        ~ part.format(15) ~ ', 72057594037927936BD)), ' ~ part.format(29) ~ ' + if(' ~ is_negative ~ ', 1BD, 0BD))' -%}
    {%- set scale = "coalesce(try_variant_get(_cell.value, '$.scale', 'int'), " ~ ("try_cast(element_at(_cell.field.parameters, 'scale') as int), " if has_units else '')
        ~ (modules.re.search(', *([0-9]+)', type) or [none, 0])[1] ~ ')' -%}
    {#- Without a schema a text is bytes if it can be nothing else, and a decimal if it cannot be bytes. #}
    {%- set is_bytes = 'true' if from == 'base64' else 'false' if from == 'text' or not has_units
        else "coalesce(_cell.field.name = 'org.apache.kafka.connect.data.Decimal', _cell.field is null"
            ~ " and _cell.text rlike '^([A-Za-z0-9+/=]{4})+$' and _cell.text not rlike '^[0-9]+$')" -%}
    {%- set is_text = 'true' if from == 'text' else 'false' if from == 'base64' or not has_units
        else "(_cell.field is not null or _cell.text not rlike '^([0-9]{4})+$')" -%}
get(transform(array(case
            {%- if is_bytes != 'false' %}
            when {{ "_cell.json rlike '^[{]' or " if has_units }}_cell.is_text and {{ is_bytes }} then case
                when length(_cell.hex) >= 2 and length(_cell.hex) <= 32
                    then concat(if({{ is_negative }}, '-', ''), cast({{ sum }} as string), 'E', cast(-{{ scale }} as string))
            end
            {%- endif %}
            when _cell.is_bare or {{ is_text }} then _cell.text
        end), _number -> case
            when _number rlike '^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$'
            and {{ digits.format('cast(try_cast(_number as ' ~ type ~ ') as string)') }} = {{ digits.format('_number') }}
            -- Spark keeps a JSON number with an exponent, or with more than 38 digits, as a double, which has 15 digits.
            and (_cell.is_text or length({{ digits.format('_number') }}) <= 15 or schema_of_variant(_cell.value) <> 'DOUBLE')
            then try_cast(_number as {{ type }})
        end), 0)
{%- endmacro %}
