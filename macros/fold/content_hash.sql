{#-
    The hash of what a command says: it tells commands of one key, tick and order apart, and decides
    between them. It hashes columns as the digest does, by name and without nulls, so that a tie keeps
    its winner when columns are added, moved or widened.

    Where commands leave columns unchanged the hash is a struct: which ones they are comes second, as
    a digit for each column. In digits a column more changes nothing of what is greater, in a hash it
    would. Unless the log `may_truncate`, a truncate raises: the steps would not know of it.
-#}
{% macro _content_hash_expr(keys, values, marks, may_truncate) -%}
    {%- set terms = trueup._hash_terms(values + [{'name': '_error', 'type': 'string'}], '').hashed -%}
    {%- if '_old_key' in marks -%}
        {%- set terms = terms + trueup._hash_terms(keys, '_old_key.').hashed -%}
    {%- endif -%}
    {%- set hash -%}
xxhash64(
        {% if may_truncate -%}
        _op,
        {%- else -%}
        -- A column that every fold reads; Spark would move a condition.
        case when _op = 'truncate' then raise_error(
            'truncate moved: a truncate arrived in the log while this run was planning; nothing is written,'
            ' run again'
        ) else _op end,
        {%- endif %}
        {{ terms | join(',\n        ') }}
    )
    {%- endset -%}
    {%- if '_unchanged' not in marks -%}
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
