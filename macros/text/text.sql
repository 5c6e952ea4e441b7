{#-
    A column's name as an SQL identifier. It may hold anything except `${`: Spark replaces `${env:HOME}` in
    the text of each statement, and quotes do not prevent that.
-#}
{% macro _quoted(name) -%}
    {%- if '${' in name | string -%}
        {%- do trueup._raise_error(
            'Each column', 'named without `${`, which Spark replaces in SQL text', name,
            'Rename it in the relation that holds it.'
        ) -%}
    {%- endif -%}
    {{ return('`' ~ (name | string | replace('`', '``')) ~ '`') }}
{%- endmacro %}


{#- Column names as a comma-separated list of identifiers, with the prefix `alias` if it is given. -#}
{% macro _column_list(names, alias=none) -%}
    {%- set prefix = alias ~ '.' if alias else '' -%}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append(prefix ~ trueup._quoted(name)) -%}
    {%- endfor -%}
    {{ return(quoted | join(', ')) }}
{%- endmacro %}


{#- Whether one of the columns of an alias is not null, as an SQL expression. -#}
{% macro _any_not_null_expr(names, alias) -%}
    {%- set terms = ['false'] -%}
    {%- for name in names -%}
        {%- do terms.append(alias ~ '.' ~ trueup._quoted(name) ~ ' is not null') -%}
    {%- endfor -%}
    {{ return(terms | join(' or ')) }}
{%- endmacro %}


{#- All columns except the given ones. -#}
{% macro _all_but_list(names) -%}
    {{ return('* except (' ~ trueup._column_list(names) ~ ')') }}
{%- endmacro %}


{#- Null-safe equality of columns of two aliases, as a join condition. -#}
{% macro _same_key_expr(names, left, right) -%}
    {%- set terms = [] -%}
    {%- for name in names -%}
        {%- set column = trueup._quoted(name) -%}
        {%- do terms.append(left ~ '.' ~ column ~ ' <=> ' ~ right ~ '.' ~ column) -%}
    {%- endfor -%}
    {{ return(terms | join(' and ')) }}
{%- endmacro %}


{#- A text as an SQL string literal, without a `${...}` that Spark would replace. -#}
{% macro _literal(text) -%}
    {%- set escaped = text | string | replace('\\', '\\\\') | replace("'", "\\'") -%}
    {{ return("'" ~ (escaped | replace('${', '$\\{')) ~ "'") }}
{%- endmacro %}


{#- Texts as a comma-separated list of SQL string literals. -#}
{% macro _literal_list(texts) -%}
    {%- set literals = [] -%}
    {%- for text in texts -%}
        {%- do literals.append(trueup._literal(text)) -%}
    {%- endfor -%}
    {{ return(literals | join(', ')) }}
{%- endmacro %}


{#-
    A type as Spark describes it, rewritten as SQL: Spark does not quote the fields of a struct. If the name
    of a field has one of `<>,:`, it cannot be told from two fields.
-#}
{% macro _sql_type(type) -%}
    {{ return(modules.re.sub('([<,])([^<>,:]+):', '\\1`\\2`:', type | replace('`', '``'))) }}
{%- endmacro %}


{#-
    A select in a place for a relation. Its lines stay as they are, because a column's name may contain line
    breaks.
-#}
{% macro _subquery(select) -%}
    {{ return('(\n' ~ select ~ '\n)') }}
{%- endmacro %}


{#-
    A struct in JSON, with its nulls, and with the microseconds and the whole offset of its timestamps. Spark's default
    has neither. Long ago many zones had an offset with seconds.
-#}
{% macro _exact_json_expr(struct) -%}
    {{ return(
        'to_json(' ~ struct ~ ", map('ignoreNullFields', 'false',"
        ~ " 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXXXX',"
        ~ " 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))"
    ) }}
{%- endmacro %}
