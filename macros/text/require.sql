{#-
    Stops with a message of a fixed form, one line each: what is required, what was given, what to do next.
    By default the next step names the file of the model or of the test.
-#}
{% macro _raise_error(subject, must, got, next_step=none) -%}
    {%- set next_step = next_step or 'Correct it in ' ~ model.original_file_path ~ '.' -%}
    {%- do exceptions.raise_compiler_error(
        [subject ~ ' must be ' ~ must ~ '.', 'Got: ' ~ got, next_step] | join('\n')
    ) -%}
{%- endmacro %}


{#- The next step if a config is wrong: it may be set in three places. -#}
{% macro _config_next_step() -%}
    {{ return(
        'Correct it where it is set: in dbt_project.yml, in the YAML of the model, or in its `config`.'
    ) }}
{%- endmacro %}


{#- The name of a macro's argument in a message. -#}
{% macro _argument(macro, argument) -%}
    {{ return('`trueup.' ~ macro ~ '` argument `' ~ argument ~ '`') }}
{%- endmacro %}


{#- Raises if a macro was called with arguments that it does not have. `unknown` holds them by name. -#}
{% macro _require_known_arguments(macro, unknown) -%}
    {%- if unknown -%}
        {%- do trueup._raise_error(
            'Each argument of `trueup.' ~ macro ~ '`', 'one that the macro has', unknown | join(', '),
            'Nothing is written. Correct the name in ' ~ model.original_file_path
            ~ '; docs/macros.md of trueup lists the arguments.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Raises unless `value` is a non-empty list of non-empty strings. The strings are expressions. With
    `are_names` they are column names, which may not repeat in Spark's sense. `next_step` is that of the error.
-#}
{% macro _require_list(subject, value, are_names=true, next_step=none) -%}
    {%- set must = 'a non-empty list of non-empty strings' -%}
    {%- set must = must ~ ', without duplicates' if are_names else must -%}
    {%- set is_list = value is iterable and value is not string and value is not mapping -%}
    {%- if not is_list or value | length == 0 -%}
        {%- do trueup._raise_error(subject, must, value, next_step) -%}
    {%- endif -%}
    {%- for item in value if item is not string or not item.strip() -%}
        {%- do trueup._raise_error(subject, must, value, next_step) -%}
    {%- endfor -%}
    {%- if are_names and value | map('lower') | unique | list | length < value | length -%}
        {%- do trueup._raise_error(subject, must, value, next_step) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless the argument `relation` of a macro is given. -#}
{% macro _require_relation(macro, relation, argument='relation') -%}
    {%- if relation is none or not (relation | string).strip() -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, argument), '`ref(...)`, `source(...)`, or a SELECT in parentheses', relation
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless `value` is an SQL expression: a non-empty string. -#}
{% macro _require_expression(macro, argument, value) -%}
    {%- if value is not string or not value.strip() -%}
        {%- do trueup._raise_error(trueup._argument(macro, argument), 'an SQL expression', value) -%}
    {%- endif -%}
{%- endmacro %}
