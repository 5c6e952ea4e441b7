{#-
    An SQL expression that reads a JSON object. It returns a struct of `value`, `error` and
    `absent`. Types are strict, and no text makes the query fail. See the YAML beside this file.

    SQL has no `let`. Here and below, a `transform` over an array with one item binds a variable
    instead.
-#}
{% macro parse_json(text, schema) -%}
    {%- do trueup._require_expression('parse_json', 'text', text) -%}
    {%- do trueup._require_schema('parse_json', schema) -%}
transform(transform(
    array(nullif(cast({{ text }} as string), 'null')),
    _text -> named_struct('text', _text, 'fields', {{ trueup._json_object_expr('_text') }})
), _object -> transform(
    array({{ trueup._read_fields_expr('_object.fields', schema) }}),
    _read -> named_struct(
        'value', _read.value,
        'error', case
            when _object.fields is null
                then concat('The text must be a JSON object. Got: ', left(_object.text, 100))
            else _read.error
        end,
        'absent', _read.absent
    )
)[0])[0]
{%- endmacro %}


{#-
    The fields of a text as a map of variants, if the text is one JSON object; otherwise null. The
    text is put in brackets, before another object, because Spark stops reading after the first value. If the
    text itself closes the bracket, the other object is not read. JSON is UTF-8; Spark would replace other bytes.
-#}
{% macro _json_object_expr(text) -%}
transform(
        array(try_variant_get(
            try_parse_json(case when is_valid_utf8({{ text }}) then concat('[', {{ text }}, ', {"_end":0}]') end),
            '$', 'array<map<string, variant>>'
        )),
        _values -> case when size(_values) = 2 and map_contains_key(_values[1], '_end') then _values[0] end
    )[0]
{%- endmacro %}
