{#- Raises unless the arguments that all envelopes share are valid. -#}
{% macro _require_envelope(macro, relation, expressions, sequence_by) -%}
    {%- do trueup._require_relation(macro, relation) -%}
    {%- for argument, expression in expressions.items() if expression is not none -%}
        {%- do trueup._require_expression(macro, argument, expression) -%}
    {%- endfor -%}
    {%- if sequence_by is not none -%}
        {%- do trueup._require_list(
            trueup._argument(macro, 'sequence_by'), sequence_by, are_names=false
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    The key columns of a schema, in the sequence of the key, or the value columns, as a dict. dbt
    does not know the key while it parses, so every column is a value then.
-#}
{% macro _columns_of(macro, schema, of_key) -%}
    {%- do trueup._require_schema(macro, schema) -%}
    {%- set key = (trueup._unique_key_of_model() if execute else []) | map('lower') | list -%}
    {%- set names = schema | map('lower') | list -%}
    {%- for name in key if name not in names -%}
        {%- do trueup._raise_error(
            '`trueup.' ~ macro ~ '` in ' ~ model.name ~ ': each column of config `unique_key`',
            'a column of argument `schema` (' ~ (schema | join(', ')) ~ ')', name,
            'Add it to `schema`, or correct the config in dbt_project.yml.'
        ) -%}
    {%- endfor -%}
    {%- set columns = {} -%}
    {%- for wanted in key if of_key -%}
        {%- for name, type in schema.items() if name | lower == wanted -%}
            {%- do columns.update({name: type}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for name, type in schema.items() if not of_key and name | lower not in key -%}
        {%- do columns.update({name: type}) -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro %}
