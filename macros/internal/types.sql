{#-
    A type as Spark writes it, parsed: `name` and `text`; for an array also `element`; for a struct also
    `fields`, each with `name` and `type`. Raises for a type that cannot be written as bytes, with the `subject`.
-#}
{% macro _parsed_type(text, subject='A column that is written as bytes') -%}
    {%- if text.startswith('array<') -%}
        {{ return({'name': 'array', 'text': text, 'element': trueup._parsed_type(text[6:-1], subject)}) }}
    {%- elif text.startswith('struct<') -%}
        {%- set fields = [] -%}
        {%- for field in trueup._type_fields(text[7:-1]) -%}
            {%- set name, _, type = field.partition(':') -%}
            {%- do fields.append({'name': name, 'type': trueup._parsed_type(type, subject)}) -%}
        {%- endfor -%}
        {{ return({'name': 'struct', 'text': text, 'fields': fields}) }}
    {%- endif -%}
    {%- set name = text.partition('(')[0] -%}
    {%- if name != 'string' and name not in trueup._byte_forms() -%}
        {%- do trueup._raise_error(
            subject, 'of one of the types '
            ~ (['string', 'array', 'struct'] + (trueup._byte_forms() | list)) | sort | join(', '),
            text, 'Cast it to one of them in the relation that is read.'
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
