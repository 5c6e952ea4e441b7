{#-
    The digest of a row of the store. It hashes the columns by name, in the sequence of their names, each with a mark, and
    skips nulls. So it stays the same when a column is added, moved or widened. `_hash_terms` says how a value is hashed.
-#}

{#- The digest of a row or an error. With `prefix` the columns of its content are fields of that struct. -#}
{% macro _row_digest_expr(collection, prefix='') -%}
    {%- set terms = trueup._hash_terms(trueup._store_identity(collection), '').hashed
        + trueup._hash_terms(trueup._store_content(collection), prefix).hashed -%}
xxhash64({{ terms | join(', ') }})
{%- endmacro %}


{#- The length of the content of a row or an error, in bytes. -#}
{% macro _row_length_expr(collection, prefix='') -%}
    {%- set terms = trueup._hash_terms(trueup._store_content(collection), prefix).lengths -%}
cast({{ terms | join(' + ') }} as bigint)
{%- endmacro %}


{#- The digest of an error whose text and kind are known and which has no values. -#}
{% macro _error_digest_expr(collection, kind, text) -%}
    {%- set key = trueup._hash_terms(trueup._store_identity(collection), '').hashed -%}
xxhash64({{ key | join(', ') }}, xxhash64('_error'), {{ trueup._literal(text) }}, xxhash64('_error_kind'), {{ trueup._literal(kind) }})
{%- endmacro %}


{#- The length of such an error, in bytes: that of its text and its kind. -#}
{% macro _error_length(kind, text) -%}
    {{ return(kind | length + text | length) }}
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
-#}
{% macro _order_mark_expr(collection, row) -%}
    {%- if not collection.is_log -%}
        {{ return('cast(null as bigint)') }}
    {%- endif -%}
    {%- set terms = trueup._hash_terms(trueup._store_identity(collection), '').hashed -%}
    {%- set fields = [] -%}
    {%- for field in trueup._parsed_type(collection.order_type).fields -%}
        {%- do fields.append({'name': field.name, 'type': field.type.text}) -%}
    {%- endfor -%}
    {%- set order = trueup._hash_terms(fields, row ~ '._order.').hashed -%}
    {%- set has_orders = collection.is_partial or row != '_next' -%}
    {#- Not by `to_json`: it depends on the time zone of the session, and cuts times to milliseconds. #}
    {%- set content = 'array<struct<key:string,value:struct<_order:' ~ collection.order_type
        ~ ',_error:string,_error_kind:string,_value:string>>>' -%}
    {%- set orders = [
        trueup._widest_form(row ~ '._delete_order', collection.order_type).value,
        trueup._widest_form('array_sort(map_entries(' ~ row ~ '._orders))', content).value,
    ] if has_orders else [] -%}
if({{ row }}._order is null, null, xxhash64({{ (terms + ['coalesce(' ~ row ~ '._digest, 0)'] + order + orders) | join(', ') }}))
{%- endmacro %}
