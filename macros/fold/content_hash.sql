{#-
    The hash of the content of a command. It tells apart commands of one key, tick and order, and it
    breaks the tie between them. Like the digest, it hashes columns by name and skips nulls. So a
    tie keeps its winner when columns are added, moved or widened.

    If commands may leave columns unchanged, the hash is a struct. Its second field says which
    columns are unchanged, with one digit for each column. A new column keeps the sequence of such
    digits, but it would change the sequence of hashes.

    If the log cannot truncate (`may_truncate` is false), a truncate raises, because the steps would
    miss it.

    Reads: `contents`.
-#}
{% macro _content_hash_expr(keys, values, step_extras, may_truncate) -%}
    {%- set terms = trueup._hash_terms(values + [{'name': '_error', 'type': 'string'}], 'contents.').hashed -%}
    {%- if '_old_key' in step_extras -%}
        {%- set terms = terms + trueup._hash_terms(keys, 'contents._old_key.').hashed -%}
    {%- endif -%}
    {%- set hash -%}
xxhash64(
        {% if may_truncate -%}
        _op,
        {%- else -%}
        -- The check is in a column that every fold reads. Spark could move a condition elsewhere.
        case when _op = 'truncate' then raise_error(
            'truncate moved: a truncate arrived in the log while this run was planning; nothing is written,'
            ' run again'
        ) else _op end,
        {%- endif %}
        {{ terms | join(',\n        ') }}
    )
    {%- endset -%}
    {%- if '_unchanged' not in step_extras -%}
        {{ return(hash) }}
    {%- endif -%}
    {%- set digits = [] -%}
    {%- for column in values | sort(attribute='name') -%}
        {%- do digits.append(
            'if(array_contains(_unchanged, ' ~ trueup._literal(column.name | lower) ~ "), '1', '0')"
        ) -%}
    {%- endfor -%}
    {{ return(
        'struct(' ~ hash ~ ' as _hash, concat(' ~ (digits | join(', ')) ~ ') as _unchanged)'
    ) }}
{%- endmacro %}
