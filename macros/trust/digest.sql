{#-
    The digest of a row of the store. It hashes the columns by name, in the sequence of their names, each with a mark, and
    skips nulls. So it stays the same when a column is added, moved or widened. `_hash_terms` says how a value is hashed.
-#}

{#- The digest of a row or an error. `prefix` stands before the columns of its content, `of_key` before those of its key. -#}
{% macro _row_digest_expr(collection, prefix='', of_key='') -%}
    {%- set terms = trueup._hash_terms(trueup._store_identity(collection), of_key).hashed
        + trueup._hash_terms(trueup._store_content(collection), prefix).hashed -%}
xxhash64({{ terms | join(', ') }})
{%- endmacro %}


{#- The length of the content of a row or an error, in bytes. -#}
{% macro _row_length_expr(collection, prefix='') -%}
    {%- set terms = trueup._hash_terms(trueup._store_content(collection), prefix).lengths -%}
cast({{ terms | join(' + ') }} as bigint)
{%- endmacro %}


{#- The bucket of a key: 0 to 255. -#}
{% macro _key_bucket_expr(collection, prefix='') -%}
cast(pmod({{ trueup._identity_hash_expr(collection, prefix) }}, {{ trueup._bucket_count() }}) as int)
{%- endmacro %}


{#- The hash of a key or error key. -#}
{% macro _identity_hash_expr(collection, prefix='') -%}
xxhash64({{ trueup._hash_terms(trueup._store_identity(collection), prefix).hashed | join(', ') }})
{%- endmacro %}


{#- The columns that identify a row or an error: a list of `name` and `type`. -#}
{% macro _store_identity(collection) -%}
    {{ return(collection.columns | selectattr('name', 'in', collection.key) | list + [{'name': '_error_key', 'type': 'string'}]) }}
{%- endmacro %}


{#- The columns that are the content of a row or an error: a list of `name` and `type`. -#}
{% macro _store_content(collection) -%}
    {{ return(
        collection.columns | rejectattr('name', 'in', collection.key) | list
        + [{'name': '_error', 'type': 'string'}, {'name': '_error_kind', 'type': 'string'}]
    ) }}
{%- endmacro %}


{#-
    The mark of the order of a current row, which the certificate sums: it binds the key, the digest and the order. `row`
    is the struct with `_order` and `_digest`, or an alias. Null if there is no current row, and in a collection by a SELECT.
    If `is_stored`, the orders are the texts of the store; in a log of whole commands those of columns are always.
-#}
{% macro _order_mark_expr(collection, row, is_stored=false) -%}
    {%- if not collection.is_log -%}
        {{ return('cast(null as bigint)') }}
    {%- endif -%}
    {%- set terms = trueup._hash_terms(trueup._store_identity(collection), '').hashed -%}
    {#- The next row of a log with whole commands has no orders of columns. -#}
    {%- for name in trueup._order_columns(collection) if is_stored or name == '_order' or collection.is_partial or row != '_next' -%}
        {%- set value = row ~ '.' ~ name -%}
        {%- set is_text = is_stored or name != '_order' and not collection.is_partial -%}
        {%- set text = value if is_text else trueup._order_text_expr(collection, name, value) -%}
        {%- do terms.append('if(' ~ value ~ " is null, null, xxhash64('" ~ name ~ "')), " ~ text) -%}
    {%- endfor -%}
if({{ row }}._order is null, null, xxhash64({{ (terms + ['coalesce(' ~ row ~ '._digest, 0)']) | join(', ') }}))
{%- endmacro %}


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


{#-
    A date or a timestamp as microseconds since 1970 in UTC, as an SQL expression. Spark knows the type when
    it plans the query, so it removes the casts and the condition.
-#}
{% macro _utc_micros_expr(value) -%}
    {{ return(
        'case when typeof(' ~ value ~ ") = 'date' then unix_date(cast(" ~ value
        ~ ' as date)) * 86400000000 else unix_micros(cast(' ~ value ~ ' as timestamp_ltz)) end'
    ) }}
{%- endmacro %}
