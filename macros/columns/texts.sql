{#-
    Value columns of a type that Spark cannot compare: a map, a variant, and whatever has one inside. The store has their JSON,
    with sorted keys, so two equal values are one text. The view of the collection gives the type back. See docs/decisions/0031.
-#}

{#- Whether a type has a map or a variant in it. -#}
{% macro _is_kept_as_text(type) -%}
    {{ return(modules.re.search('(^|[:<,])(map<|variant($|[,>]))', type) is not none) }}
{%- endmacro %}


{#- The types of those columns that are kept as texts, by name in lower case. -#}
{% macro _text_types(columns) -%}
    {%- set types = {} -%}
    {%- for column in columns if trueup._is_kept_as_text(column.type) -%}
        {%- do types.update({column.name | lower: column.type}) -%}
    {%- endfor -%}
    {{ return(types) }}
{%- endmacro %}


{#- The same by the note of a batch row, for the columns that the store has now. -#}
{% macro _noted_text_types(columns, note) -%}
    {%- set types = {} -%}
    {%- for column in columns if column.type == 'string' -%}
        {%- for noted in note or [] if noted.startswith(column.name ~ ' ') and trueup._is_kept_as_text(noted[column.name | length + 1:]) -%}
            {%- do types.update({column.name | lower: noted[column.name | length + 1:]}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(types) }}
{%- endmacro %}


{#- The value of such a text. -#}
{% macro _from_json_text_expr(text, type) -%}
    {{ return(
        'parse_json(' ~ text ~ ')' if type == 'variant'
        else 'from_json(' ~ text ~ ', ' ~ trueup._literal(trueup._sql_type(type)) ~ ", map('timeZone', 'UTC'))"
    ) }}
{%- endmacro %}
