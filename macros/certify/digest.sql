{#-
    The digest of a row: what a certificate adds up. A row is written as text, its columns by name
    and in the sequence of their names, without those that are null: so the digest stays the same
    when a column is added, moved or widened. Equal rows (`<=>`) have equal digests on every engine
    and with every setting of a session.
-#}

{#- How many buckets the keys of a collection are in. -#}
{% macro _bucket_count() -%}
    {{ return(256) }}
{%- endmacro %}


{#-
    The digest of a row, as an SQL expression: a struct of the bucket of its key, its length and two
    hashes.

    `columns` are the key and value columns, each with `name` and `type`. They are columns of
    `alias`, if one is given; with `in_value` the values are fields of a struct `_value` there.
-#}
{% macro digest_expr(unique_key, columns, alias=none, in_value=false) -%}
    {%- set prefix = alias ~ '.' if alias else '' -%}
    {%- set keys = columns | selectattr('name', 'in', unique_key) | list -%}
    {%- set values = columns | rejectattr('name', 'in', unique_key) | list -%}
    {%- set key_text = trueup._named_text_expr(
        keys + [{'name': '_error_key', 'type': 'string'}], prefix
    ) -%}
    {%- set value_text = trueup._named_text_expr(
        values + [{'name': '_error', 'type': 'string'}], prefix ~ ('_value.' if in_value else '')
    ) -%}
transform(
            array(struct({{ key_text }} as key_text, {{ value_text }} as value_text)),
            row -> named_struct(
                'bucket', cast(pmod(xxhash64(row.key_text), {{ trueup._bucket_count() }}) as int),
                'length', cast(octet_length(row.key_text) + octet_length(row.value_text) as bigint),
                'checksum', xxhash64(row.key_text, row.value_text),
                'mark', xxhash64('mark', row.key_text, row.value_text)
            )
        )[0]
{%- endmacro %}


{#- The columns that are not null as text, each with its name, in the sequence of their names. -#}
{% macro _named_text_expr(columns, prefix) -%}
    {%- set texts = [] -%}
    {%- for column in columns | sort(attribute='name') -%}
        {%- set value = prefix ~ trueup._quote(column.name) -%}
        {%- set text = trueup._widest_text_expr(value, column.type) -%}
        {%- do texts.append(
            'case when ' ~ value ~ ' is not null then concat('
            ~ trueup._literal(column.name | lower) ~ ', char(2), ' ~ text ~ ') end'
        ) -%}
    {%- endfor -%}
concat_ws(char(2), {{ texts | join(', ') }})
{%- endmacro %}


{#-
    The text of a value, which stays the same when its column is widened: numbers have one text in
    all widths; a date is written as the timestamp that it would become, in UTC.
-#}
{% macro _widest_text_expr(value, type) -%}
    {%- if type == 'date' -%}
        {{ return('cast(unix_date(' ~ value ~ ') * 86400000000 as string)') }}
    {%- endif -%}
    {{ return(trueup._encode_expr(value, trueup._parse_type(type))) }}
{%- endmacro %}
