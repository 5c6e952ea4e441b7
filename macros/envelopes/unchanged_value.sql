{#-
    How Debezium writes the text `unchanged_value` in place of a value, by the type of the column, as SQL
    expressions of texts. These may be the value, the first item of an array, or the JSON of the whole column:

    - a text, and bytes in base64 or in hexadecimal digits
    - `uuid[]`: the UUID that Java makes of the text (`UUID.nameUUIDFromBytes`): version 3, from the MD5 hash
    - `int4[]`, `int8[]`, `date[]`: the bytes of the text as numbers, if all are printable ASCII
    - `hstore`: an object whose only key and value are the text
-#}
{% macro _forms_of_unchanged(text) -%}
    {%- set mark, json, hash, numbers, of_character = trueup._literal(text), tojson(text), local_md5(text), [], {} -%}
    {%- set variant = '89ab'['0123456789abcdef'.find(hash[16]) % 4] -%}
    {%- set visible -%}
!"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_`abcdefghijklmnopqrstuvwxyz{|}~
    {%- endset -%}
    {%- for character in ' ' ~ visible -%}
        {%- do of_character.update({character: loop.index0 + 32}) -%}
    {%- endfor -%}
    {%- for character in text -%}
        {%- do numbers.append(of_character.get(character)) -%}
    {%- endfor -%}
    {{ return([
        mark, 'base64(' ~ mark ~ ')', 'lower(hex(' ~ mark ~ '))', trueup._literal('{' ~ json ~ ':' ~ json ~ '}'),
        trueup._literal(hash[:8] ~ '-' ~ hash[8:12] ~ '-3' ~ hash[13:16] ~ '-' ~ variant ~ hash[17:20] ~ '-' ~ hash[20:]),
    ] + ([] if none in numbers else [trueup._literal('[' ~ numbers | join(',') ~ ']')])) }}
{%- endmacro %}
