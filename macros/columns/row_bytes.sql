{#-
    A row as bytes, and back. Equal rows (`<=>`) have equal bytes, and different rows have different bytes.
    No setting of the session changes the bytes. See docs/decisions/0007.

    A row is a sequence of columns with a byte 2 between them. A column is text. A null is byte 1 and `n`.
    Where a text has byte 1 or 2, byte 1 escapes it. A nested struct or array is a row of its own, escaped.
-#}

{#-
    The bytes of a row, as an SQL expression that is never null.

    `columns` are columns in scope, each with `name` and `type`. If `alias` is given, they belong to it.
-#}
{% macro row_bytes_expr(columns, alias=none) -%}
    {%- set prefix = alias ~ '.' if alias else '' -%}
    {%- set texts = [] -%}
    {%- for column in columns -%}
        {%- set type = trueup._parsed_type(column.type) -%}
        {%- do texts.append(trueup._encode_expr(prefix ~ trueup._quoted(column.name), type)) -%}
    {%- endfor -%}
cast(concat_ws(char(2), {{ texts | join(', ') }}) as binary)
{%- endmacro %}


{#- The struct of `columns` from which `row_bytes_expr` made these bytes, as an SQL expression. -#}
{% macro row_from_bytes_expr(bytes, columns) -%}
    {%- set fields = [] -%}
    {%- for column in columns -%}
        {%- do fields.append({'name': column.name, 'type': trueup._parsed_type(column.type)}) -%}
    {%- endfor -%}
{{ trueup._decode_struct_expr('cast(' ~ bytes ~ ' as string)', fields) }}
{%- endmacro %}


{#- The text of one value, never null. -#}
{% macro _encode_expr(value, type, depth=0) -%}
    {%- if type.name == 'array' -%}
        {%- set item = 'item_' ~ depth -%}
        {%- set items = 'transform(' ~ value ~ ', ' ~ item ~ ' -> '
            ~ trueup._encode_expr(item, type.element, depth + 1) ~ ')' -%}
        {%- set text = trueup._escape_expr("concat_ws(char(2), '', " ~ items ~ ')') -%}
    {%- elif type.name == 'struct' -%}
        {%- set texts = [] -%}
        {#- Spark takes `a.v` for the column `v` of a table `a`, if there is one. So no column is written before a point. -#}
        {%- set owner = 'coalesce(' ~ value ~ ')' if modules.re.match('^`([^`]|``)*`$', value) else value -%}
        {%- for field in type.fields -%}
            {%- do texts.append(trueup._encode_expr(
                owner ~ '.' ~ trueup._quoted(field.name), field.type, depth
            )) -%}
        {%- endfor -%}
        {%- set text = trueup._escape_expr('concat_ws(char(2), ' ~ texts | join(', ') ~ ')') -%}
    {%- elif type.name == 'string' -%}
        {%- set text = 'if(is_valid_utf8(' ~ value ~ '), ' ~ trueup._escape_expr(value)
            ~ ", concat(char(1), 'x', hex(" ~ value ~ ')))' -%}
    {%- else -%}
        {%- set text = trueup._byte_forms()[type.name].encode.format(value, type.text) -%}
    {%- endif -%}
    {{ return('if(' ~ value ~ " is null, concat(char(1), 'n'), " ~ text ~ ')') }}
{%- endmacro %}


{#- The value of a text. -#}
{% macro _decode_expr(text, type, depth) -%}
    {%- if type.name == 'array' -%}
        {%- set item = 'item_' ~ depth -%}
        {%- set texts = 'split(' ~ trueup._unescape_expr(text) ~ ', char(2))' -%}
        {%- set value = 'transform(slice(' ~ texts ~ ', 2, length(' ~ text ~ ')), ' ~ item
            ~ ' -> ' ~ trueup._decode_expr(item, type.element, depth + 1) ~ ')' -%}
    {%- elif type.name == 'struct' -%}
        {%- set value = trueup._decode_struct_expr(
            trueup._unescape_expr(text), type.fields, depth
        ) -%}
    {%- elif type.name == 'string' -%}
        {%- set value = "if(startswith(" ~ text ~ ", concat(char(1), 'x')), cast(unhex(substr("
            ~ text ~ ', 3)) as string), ' ~ trueup._unescape_expr(text) ~ ')' -%}
    {%- else -%}
        {%- set value = trueup._byte_forms()[type.name].decode.format(text, type.text) -%}
    {%- endif -%}
    {{ return('if(' ~ text ~ " = concat(char(1), 'n'), null, " ~ value ~ ')') }}
{%- endmacro %}


{#- The struct of a row's text. The lambda splits the text once for all fields. -#}
{% macro _decode_struct_expr(text, fields, depth=0) -%}
    {%- set texts = 'texts_' ~ depth -%}
    {%- set values = [] -%}
    {%- for field in fields -%}
        {%- do values.append(trueup._literal(field.name)) -%}
        {%- do values.append(trueup._decode_expr(
            texts ~ '[' ~ loop.index0 ~ ']', field.type, depth + 1
        )) -%}
    {%- endfor -%}
    {{ return(
        'transform(array(split(' ~ text ~ ', char(2))), ' ~ texts ~ ' -> named_struct('
        ~ values | join(', ') ~ '))[0]'
    ) }}
{%- endmacro %}


{#- A text without byte 1 or 2, as an SQL expression. -#}
{% macro _escape_expr(text) -%}
    {{ return(
        'replace(replace(' ~ text ~ ", char(1), concat(char(1), 'a')), char(2), concat(char(1), 'b'))"
    ) }}
{%- endmacro %}


{#- The original text of `_escape_expr`, as an SQL expression. -#}
{% macro _unescape_expr(text) -%}
    {{ return(
        'replace(replace(' ~ text ~ ", concat(char(1), 'b'), char(2)), concat(char(1), 'a'), char(1))"
    ) }}
{%- endmacro %}


{#-
    The types without parts and without text: {0} is the value or its text, {1} the type. A number with a
    point is written in a form that Java fixes. A cast would not do: its result depends on ANSI mode and on
    the version of Java. -0.0 becomes 0.0.
-#}
{% macro _byte_forms() -%}
    {%- set plain = {'encode': 'cast({0} as string)', 'decode': 'cast({0} as {1})'} -%}
    {%- set float = {
        'encode': "format_string('%a', {0} + cast(0 as {1}))", 'decode': 'cast({0} as {1})',
    } -%}
    {{ return({
        'boolean': plain, 'tinyint': plain, 'smallint': plain, 'int': plain, 'bigint': plain,
        'timestamp_ntz': plain,
        'float': float, 'double': float,
        'decimal': {'encode': "format_string('%s', {0})", 'decode': 'cast({0} as {1})'},
        'binary': {'encode': 'hex({0})', 'decode': 'unhex({0})'},
        'date': {
            'encode': 'cast(unix_date({0}) as string)',
            'decode': 'date_from_unix_date(cast({0} as int))',
        },
        'timestamp': {
            'encode': 'cast(unix_micros({0}) as string)',
            'decode': 'timestamp_micros(cast({0} as bigint))',
        },
    }) }}
{%- endmacro %}
