{#-
    The digest of a row. A certificate is a sum of digests. A digest hashes the columns by name, in the
    sequence of their names, and skips nulls. So it stays the same when a column is added, moved or
    widened. Equal rows (`<=>`) have equal digests on every engine and with every setting of a session.
    See docs/decisions/0009.
-#}

{#- The number of buckets of keys. -#}
{% macro _bucket_count() -%}
    {{ return(256) }}
{%- endmacro %}


{#-
    The digest of a row, as an SQL expression. It is a struct of the bucket of the key, the length
    of the row and the checksum, a hash of all columns.

    Write the checksum only once: its expression is long, and Spark runs it for each command. Java compiles no method of
    more than 8,000 bytes, and Spark makes one method of all expressions that read a command.

    `columns` are the key and value columns, each with `name` and `type`. If `alias` is given, they
    are columns of that alias. With `in_value`, the values are fields of its struct `_value`.
-#}
{% macro _digest_expr(unique_key, columns, alias=none, in_value=false) -%}
    {%- set prefix = alias ~ '.' if alias else '' -%}
    {%- set of_key = trueup._hash_terms(
        trueup._identity_columns(unique_key, columns), prefix
    ) -%}
    {%- set of_value = trueup._hash_terms(
        trueup._value_columns(unique_key, columns), prefix ~ ('_value.' if in_value else '')
    ) -%}
named_struct(
            'bucket', {{ trueup._bucket_expr(unique_key, columns, alias) }},
            'length', cast({{ (of_key.lengths + of_value.lengths) | join(' + ') }} as bigint),
            'checksum', xxhash64({{ (of_key.hashed + of_value.hashed) | join(', ') }})
        )
{%- endmacro %}


{#-
    The bucket of a key, as an SQL expression. If `alias` is given, the key columns are columns of
    it.
-#}
{% macro _bucket_expr(unique_key, columns, alias=none) -%}
    {%- set terms = trueup._hash_terms(
        trueup._identity_columns(unique_key, columns), alias ~ '.' if alias else ''
    ).hashed -%}
cast(pmod(xxhash64({{ terms | join(', ') }}), {{ trueup._bucket_count() }}) as int)
{%- endmacro %}


{#- Whether a key of `alias` is in one of the `buckets`, as a condition. -#}
{% macro _in_buckets_expr(unique_key, columns, buckets, alias) -%}
    {{ return(
        trueup._bucket_expr(unique_key, columns, alias) ~ ' in (' ~ (buckets | join(', ')) ~ ')'
    ) }}
{%- endmacro %}


{#- The key columns and `_error_key`: a list of `name` and `type`. -#}
{% macro _identity_columns(unique_key, columns) -%}
    {{ return(
        columns | selectattr('name', 'in', unique_key) | list
        + [{'name': '_error_key', 'type': 'string'}]
    ) }}
{%- endmacro %}


{#- The value columns and `_error`: a list of `name` and `type`. -#}
{% macro _value_columns(unique_key, columns) -%}
    {{ return(
        columns | rejectattr('name', 'in', unique_key) | list
        + [{'name': '_error', 'type': 'string'}]
    ) }}
{%- endmacro %}


{#-
    The terms to hash for the columns, and their lengths in bytes. Both are lists of SQL
    expressions. A hash skips nulls, so a number for the name of its column comes before each value.
    Spark computes that number once per query.
-#}
{% macro _hash_terms(columns, prefix) -%}
    {%- set terms = {'hashed': [], 'lengths': []} -%}
    {%- for column in columns | sort(attribute='name') -%}
        {%- set value = prefix ~ trueup._quoted(column.name) -%}
        {%- set widest = trueup._widest_form(value, column.type) -%}
        {%- do terms.hashed.append(
            'if(' ~ value ~ ' is null, null, xxhash64('
            ~ trueup._literal(column.name | lower) ~ ')), '
            ~ widest.value
        ) -%}
        {%- set length = 'octet_length(' ~ widest.value ~ ')' if widest.is_text else '8' -%}
        {%- do terms.lengths.append('if(' ~ value ~ ' is null, 0, ' ~ length ~ ')') -%}
    {%- endfor -%}
    {{ return(terms) }}
{%- endmacro %}


{#-
    A value in the form of the widest column: an integer as a bigint, a date as the microseconds of
    its midnight in UTC, null as null. A nested value becomes text, because a hash also skips the
    nulls inside it.
-#}
{% macro _widest_form(value, type) -%}
    {%- set name = trueup._parsed_type(type).name -%}
    {%- if name in ['string', 'binary'] -%}
        {{ return({'value': value, 'is_text': true}) }}
    {%- elif name in ['array', 'struct'] -%}
        {%- set text = trueup._encode_expr(value, trueup._parsed_type(type)) -%}
        {{ return({
            'value': 'if(' ~ value ~ ' is null, null, ' ~ text ~ ')', 'is_text': true
        }) }}
    {%- endif -%}
    {%- set scale = modules.re.sub('.*,|\\)', '', type) -%}
    {%- set forms = {
        'tinyint': 'cast({0} as bigint)', 'smallint': 'cast({0} as bigint)',
        'int': 'cast({0} as bigint)',
        'float': 'cast({0} as double) + 0D', 'double': '{0} + 0D',
        'decimal': 'cast({0} as decimal(38, ' ~ scale ~ '))',
        'date': trueup._utc_micros_expr('{0}'), 'timestamp': trueup._utc_micros_expr('{0}'),
    } -%}
    {{ return({'value': forms.get(name, '{0}').format(value), 'is_text': false}) }}
{%- endmacro %}
