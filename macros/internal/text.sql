{#-
    A column's name as an SQL identifier, whatever it holds but `${`: Spark replaces `${env:HOME}` in
    the text of each statement, and no quotes prevent it.
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


{#- Column names as a comma-separated list of identifiers, each of `alias` where one is given. -#}
{% macro _column_list(names, alias=none) -%}
    {%- set prefix = alias ~ '.' if alias else '' -%}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append(prefix ~ trueup._quoted(name)) -%}
    {%- endfor -%}
    {{ return(quoted | join(', ')) }}
{%- endmacro %}


{#- Every column but those. -#}
{% macro _all_but_list(names) -%}
    {{ return('* except (' ~ trueup._column_list(names) ~ ')') }}
{%- endmacro %}


{#- Null-safe equality of two aliases over columns, as a join condition. -#}
{% macro _same_key_expr(names, left, right) -%}
    {%- set terms = [] -%}
    {%- for name in names -%}
        {%- set column = trueup._quoted(name) -%}
        {%- do terms.append(left ~ '.' ~ column ~ ' <=> ' ~ right ~ '.' ~ column) -%}
    {%- endfor -%}
    {{ return(terms | join(' and ')) }}
{%- endmacro %}


{#- A value as an SQL literal, which may be none. -#}
{% macro _literal_or_null(text) -%}
    {{ return('null' if text is none else trueup._literal(text)) }}
{%- endmacro %}


{#- A number as an SQL literal, which may be none. -#}
{% macro _number_or_null(number) -%}
    {{ return('null' if number is none else number) }}
{%- endmacro %}


{#- A text as an SQL string literal, in which Spark finds no `${...}` to replace. -#}
{% macro _literal(text) -%}
    {%- set escaped = text | string | replace('\\', '\\\\') | replace("'", "\\'") -%}
    {{ return("'" ~ (escaped | replace('${', '$\\{')) ~ "'") }}
{%- endmacro %}


{#-
    A type that Spark describes, as it is written in SQL: Spark does not quote the fields of a
    struct. A field with one of `<>,:` in its name cannot be told from two.
-#}
{% macro _sql_type(type) -%}
    {{ return(modules.re.sub('([<,])([^<>,:]+):', '\\1`\\2`:', type | replace('`', '``'))) }}
{%- endmacro %}


{#- A select where a relation is read; as it stands, for the name of a column may have lines. -#}
{% macro _subquery(select) -%}
    {{ return('(\n' ~ select ~ '\n)') }}
{%- endmacro %}
