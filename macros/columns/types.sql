{#-
    A type as Spark writes it, parsed: `name` and `text`; for an array also `element`; for a struct also
    `fields`, each with `name` and `type`. Raises for a type that cannot be written as bytes. If it is the type of a
    `column`, or a part of it, the error shows the column.
-#}
{% macro _parsed_type(text, column=none) -%}
    {%- if text.startswith('array<') -%}
        {{ return({'name': 'array', 'text': text, 'element': trueup._parsed_type(text[6:-1], column)}) }}
    {%- elif text.startswith('struct<') -%}
        {%- set fields = [] -%}
        {%- for field in trueup._type_fields(text[7:-1]) -%}
            {%- set name, _, type = field.partition(':') -%}
            {%- do fields.append({'name': name, 'type': trueup._parsed_type(type, column)}) -%}
        {%- endfor -%}
        {{ return({'name': 'struct', 'text': text, 'fields': fields}) }}
    {%- endif -%}
    {%- set name = text.partition('(')[0] -%}
    {%- if name != 'string' and name not in trueup._byte_forms() -%}
        {%- do trueup._raise_error(
            'A key or value column' if column else 'A column that is written as bytes', 'of one of the types '
            ~ (['string', 'array', 'struct'] + (trueup._byte_forms() | list)) | sort | join(', ')
            ~ ', and the name of a field without one of the signs : , < > ( )',
            column.name ~ ' ' ~ column.type if column else text,
            'Cast it to one of them in the relation that is read, or rename the field.'
        ) -%}
    {%- endif -%}
    {{ return({'name': name, 'text': text}) }}
{%- endmacro %}


{#- The fields of a struct's type, split at commas. Commas inside the type of a field do not count. -#}
{% macro _type_fields(text) -%}
    {%- set found = namespace(fields=[], field='', depth=0) -%}
    {%- for letter in text -%}
        {%- if letter == ',' and found.depth == 0 -%}
            {%- do found.fields.append(found.field) -%}
            {%- set found.field = '' -%}
        {%- else -%}
            {%- set step = 1 if letter in '<(' else -1 if letter in '>)' else 0 -%}
            {%- set found.depth = found.depth + step -%}
            {%- set found.field = found.field ~ letter -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found.fields + [found.field]) }}
{%- endmacro %}
