{#-
    An SQL expression that reads the columns of a schema from a map of variants. It returns a struct
    of `value`, a struct of the columns that could be read; `error`, which says what is wrong with
    the other columns; and `absent`, the names of the columns that are not in the map.

    `marks` is a list of SQL expressions of strings. With it, a column that holds one of them
    (alone, first in an array, or as the JSON of an array or object) is not an error. It is null, and its name
    is in the array `marked`.

    `binary_format` is how the source writes bytes: `base64` or `hex`.
-#}
{% macro _read_fields_expr(fields, schema, marks=none, binary_format='base64') -%}
transform(transform(array({{ fields }}), _fields -> named_struct(
    {%- for name, type in schema.items() %}
    {%- set field = '_fields[' ~ trueup._literal(name) ~ ']' %}
    'json_{{ loop.index }}', to_json({{ field }}),
    'typed_{{ loop.index }}', {{ trueup._typed_expr(field, type, binary_format) }}
    {%- if trueup._may_be_inexact(type) %},
    'kind_{{ loop.index }}', schema_of_variant({{ field }})
    {%- endif %}
    {%- if marks %},
    'is_marked_{{ loop.index }}', coalesce(
        try_variant_get({{ field }}, '$', 'string') in ({{ marks | join(', ') }})
        or try_variant_get({{ field }}, '$[0]', 'string') in ({{ marks | join(', ') }}),
        false
    )
    {%- endif %}{{ ',' if not loop.last }}
    {%- endfor %}
)), _read -> named_struct(
    'value', named_struct(
        {%- for name, type in schema.items() %}
        {{ trueup._literal(name) }}, case
            when {{ 'not _read.is_marked_' ~ loop.index ~ ' and ' if marks -}}
                {{ trueup._fits_expr(type, loop.index, binary_format) }}
                then _read.typed_{{ loop.index }}{{ '._value' if '<' in type }}
        end
        {{- ',' if not loop.last }}
        {%- endfor %}
    ),
    'error', nullif(concat_ws(
        '; '
        {%- for name, type in schema.items() %},
        case
            when _read.json_{{ loop.index }} <> 'null'
                {{- ' and not _read.is_marked_' ~ loop.index if marks }}
                and not ({{ trueup._fits_expr(type, loop.index, binary_format) }})
                then concat(
                    {{ trueup._literal('`' ~ name ~ '` must be ' ~ type ~ '. Got: ') }},
                    left(_read.json_{{ loop.index }}, 100)
                )
        end
        {%- endfor %}
    ), ''),
    'absent', {{ trueup._names_expr(schema, 'json_', ' is null') }}
    {%- if marks %},
    'marked', {{ trueup._names_expr(schema, 'is_marked_', '') }}
    {%- endif %}
))[0]
{%- endmacro %}


{#-
    A variant as a type; null if it does not fit the type. `from_json` reads nested types. It marks
    in `_bad` that something inside does not fit.
-#}
{% macro _typed_expr(variant, type, binary_format) -%}
    {%- if '<' in type -%}
from_json(
        concat('{"_value":', to_json({{ variant }}), '}'),
        {{ trueup._literal('_value ' ~ type ~ ', _bad string') }},
        map('columnNameOfCorruptRecord', '_bad')
    )
    {%- elif type == 'binary' -%}
try_to_binary(try_variant_get({{ variant }}, '$', 'string'), {{ trueup._literal(binary_format) }})
    {%- else -%}
try_variant_get({{ variant }}, '$', {{ trueup._literal(type) }})
    {%- endif -%}
{%- endmacro %}


{#- Whether the JSON of a column has the form of its type and is within the bounds of the type. -#}
{% macro _fits_expr(type, number, binary_format) -%}
    {%- set json, typed, kind = '_read.json_' ~ number, '_read.typed_' ~ number, '_read.kind_' ~ number -%}
    {%- set has_form = json ~ ' rlike ' ~ trueup._literal(trueup._json_form(type, binary_format)) -%}
    {%- if '<' in type -%}
        {{ return(has_form ~ ' and ' ~ typed ~ '._value is not null and ' ~ typed ~ '._bad is null') }}
    {%- elif not trueup._may_be_inexact(type) -%}
        {{ return(has_form ~ ' and ' ~ typed ~ ' is not null') }}
    {%- elif type in ['float', 'double'] -%}
        {#- A number out of range is infinite; a source writes an infinite number as a text. -#}
        {{ return(
            has_form ~ ' and ' ~ typed ~ ' is not null and (' ~ kind ~ " = 'STRING' or abs(" ~ typed
            ~ ") < double('Infinity'))"
        ) }}
    {%- endif -%}
    {{ return(
        'case when ' ~ kind ~ " = 'DOUBLE' then " ~ trueup._is_exact_double_expr(json, typed) ~ ' else '
        ~ has_form ~ ' end and ' ~ typed ~ ' is not null'
    ) }}
{%- endmacro %}


{#- Whether a variant may have fewer digits than the JSON has. Only types of numbers with a fraction can lose some. -#}
{% macro _may_be_inexact(type) -%}
    {{ return('<' not in type and modules.re.match('(decimal|float|double)', type) is not none) }}
{%- endmacro %}


{#-
    Whether a decimal equals a number that Spark keeps as a double. These are JSON numbers with an exponent, such
    as `1E-8`, or with more than 38 digits. A double keeps 15 digits of any number. The digits of the message are
    gone here, so a longer number that rounds to a short one is not found.
-#}
{% macro _is_exact_double_expr(json, typed) -%}
    {{ return(
        'length(regexp_replace(' ~ json ~ ", 'E.*|^-?0[.]0*|[^0-9]', '')) <= 15"
        ~ ' and double(' ~ typed ~ ') = double(' ~ json ~ ')'
    ) }}
{%- endmacro %}


{#- The names of the columns for which a condition on a field of `_read` holds, as an array. -#}
{% macro _names_expr(schema, field, condition) -%}
array_compact(array(
        {%- for name in schema %}
        case when _read.{{ field }}{{ loop.index }}{{ condition }} then {{ trueup._literal(name) }} end
        {{- ',' if not loop.last }}
        {%- endfor %}
    ))
{%- endmacro %}
