{#-
    How Debezium writes the text `unchanged_value` in place of a value, by the type of the column, as SQL
    expressions of texts. These may be the value, the first item of an array, or the JSON of the whole column:

    - a text, and bytes in base64 or in hexadecimal digits
    - `uuid[]`: the UUID of the text
    - `int4[]`, `int8[]`, `date[]`: the bytes of the text as numbers
    - `hstore`: an object whose only key and value are the text
-#}
{% macro _forms_of_unchanged(text) -%}
    {%- set mark, json = trueup._literal(text), tojson(text) -%}
    {%- set forms = [
        mark, 'base64(' ~ mark ~ ')', 'lower(hex(' ~ mark ~ '))', trueup._literal(trueup._uuid_of_text(text)),
        trueup._literal('{' ~ json ~ ':' ~ json ~ '}')
    ] -%}
    {%- set numbers = trueup._ascii_numbers(text) -%}
    {{ return(forms + ([trueup._literal('[' ~ numbers | join(',') ~ ']')] if numbers else [])) }}
{%- endmacro %}


{#- The UUID that Java makes of the bytes of a text (`UUID.nameUUIDFromBytes`): version 3, from the MD5 hash. -#}
{% macro _uuid_of_text(text) -%}
    {%- set hash = local_md5(text) -%}
    {%- set variants = {
        '0': '8', '4': '8', '8': '8', 'c': '8', '1': '9', '5': '9', '9': '9', 'd': '9',
        '2': 'a', '6': 'a', 'a': 'a', 'e': 'a', '3': 'b', '7': 'b', 'b': 'b', 'f': 'b'
    } -%}
    {{ return(
        hash[:8] ~ '-' ~ hash[8:12] ~ '-3' ~ hash[13:16] ~ '-' ~ variants[hash[16]] ~ hash[17:20] ~ '-' ~ hash[20:]
    ) }}
{%- endmacro %}


{#- The bytes of a text as numbers; empty if a character is not printable ASCII. -#}
{% macro _ascii_numbers(text) -%}
    {%- set visible -%}
!"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_`abcdefghijklmnopqrstuvwxyz{|}~
    {%- endset -%}
    {%- set number_of, numbers = {' ': 32}, [] -%}
    {%- for character in visible -%}
        {%- do number_of.update({character: loop.index0 + 33}) -%}
    {%- endfor -%}
    {%- for character in text -%}
        {%- do numbers.append(number_of.get(character)) -%}
    {%- endfor -%}
    {{ return([] if none in numbers else numbers) }}
{%- endmacro %}
