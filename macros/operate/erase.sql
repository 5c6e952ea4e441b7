{#-
    Removes all that a store holds of some keys, in one commit: their updates, rows, errors and tombstones. The batch row keeps
    only a hash of each key. A repair never brings an erased key back. A later command of the key makes a new row, and so does
    an old one that is still in the log when the whole log is read again: erase it there, too.

    An operation: `dbt run-operation trueup.erase --args '{collection: orders, keys: [{order_id: 5}]}'`.
-#}
{% macro erase(collection, keys) -%}
    {%- set found = trueup._get_sound_store('erase', collection) -%}
    {%- set erased = trueup._erased_keys(found.collection, keys) -%}
    {%- set hashes = trueup._get_key_hashes(found.collection, erased) -%}
    {%- set removed = trueup._removed_keys_expr(erased) -%}
    {%- set count = run_query('select count(*) from ' ~ found.collection.store ~ ' where ' ~ removed).rows[0][0] -%}
    {%- if not count -%}
        {%- do log(found.collection.store ~ ' holds nothing of these keys.', info=true) -%}
    {%- else -%}
        {%- do trueup._ensure_rewritten(found, {'removed': removed, 'added': none}, 'erased', {'erased': hashes}) -%}
        {%- do log(
            'Erased ' ~ (hashes | length) ~ (' key' if hashes | length == 1 else ' keys') ~ ' from ' ~ found.collection.store ~ ': '
            ~ count ~ ' rows. What is left to do: erase them from the log and from copies, such as an append-only changelog.'
            ~ ' Snapshots of before hold them until they expire: see trueup.maintain.', info=true
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    The keys as a list of dicts: the SQL of each key column and of `_error_key`. A key may be a value, if there is one key
    column; a mapping with all key columns; or the `_error_key` of a key error.
-#}
{% macro _erased_keys(collection, keys) -%}
    {%- set subject = trueup._argument('erase', 'keys') -%}
    {%- set must = 'a non-empty list: each a mapping of ' ~ (collection.key | join(', ')) ~ ', or of _error_key' -%}
    {%- set next = 'Nothing is erased. Call it again with such a list.' -%}
    {%- if keys is string or keys is mapping or keys is not iterable or not keys -%}
        {%- do trueup._raise_error(subject, must, keys, next) -%}
    {%- endif -%}
    {%- set found = [] -%}
    {%- for given in keys -%}
        {%- set key = given if given is mapping else {collection.key[0]: given} if collection.key | length == 1 else {} -%}
        {%- if key | sort != ['_error_key'] and key | sort != collection.key | sort -%}
            {%- do trueup._raise_error(subject, must, given, next) -%}
        {%- endif -%}
        {%- set values = {} -%}
        {%- for column in trueup._store_identity(collection) -%}
            {%- set value = key.get(column.name) -%}
            {%- do values.update({column.name: {
                'is_given': value is not none,
                'sql': 'null' if value is none else 'unhex(' ~ trueup._literal(value) ~ ')' if column.type == 'binary'
                    else 'cast(' ~ trueup._literal(value) ~ ' as ' ~ trueup._sql_type(column.type) ~ ')',
                'type': trueup._sql_type(column.type),
            }}) -%}
        {%- endfor -%}
        {%- do found.append(values) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}


{#- The condition for the rows of these keys. -#}
{% macro _removed_keys_expr(erased) -%}
    {%- set keys = [] -%}
    {%- for values in erased -%}
        {%- set terms = [] -%}
        {%- for name, value in values.items() -%}
            {%- do terms.append(trueup._quoted(name) ~ ' <=> ' ~ value.sql) -%}
        {%- endfor -%}
        {%- do keys.append('(' ~ (terms | join(' and ')) ~ ')') -%}
    {%- endfor -%}
    {{ return("_kind <> 'batch' and (" ~ (keys | join(' or ')) ~ ')') }}
{%- endmacro %}


{#- The hashes of these keys. Raises for a value that does not have the type of its column. -#}
{% macro _get_key_hashes(collection, erased) -%}
    {%- set selects = [] -%}
    {%- for values in erased -%}
        {%- set items, wrong = [], ['false'] -%}
        {%- for name, value in values.items() -%}
            {%- do items.append('cast(' ~ value.sql ~ ' as ' ~ value.type ~ ') as ' ~ trueup._quoted(name)) -%}
            {%- do wrong.append(value.sql ~ ' is null') if value.is_given -%}
        {%- endfor -%}
        {%- do selects.append('select ' ~ (items | join(', ')) ~ ', ' ~ (wrong | join(' or ')) ~ ' as _is_wrong') -%}
    {%- endfor -%}
    {%- set rows = run_query(
        'select hex(' ~ trueup._identity_hash_expr(collection) ~ '), _is_wrong from (' ~ (selects | join(' union all ')) ~ ')'
    ).rows -%}
    {%- for row in rows if row[1] -%}
        {%- do trueup._raise_error(
            trueup._argument('erase', 'keys'), 'a list of keys whose values have the types of their columns',
            'one that cannot be cast', 'Nothing is erased. Correct the value.'
        ) -%}
    {%- endfor -%}
    {%- set hashes = [] -%}
    {%- for row in rows -%}
        {%- do hashes.append(row[0]) -%}
    {%- endfor -%}
    {{ return(hashes) }}
{%- endmacro %}
