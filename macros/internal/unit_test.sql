{#-
    dbt's unit tests. In a unit test dbt knows neither the configs of the model nor any other model. So only the
    commands can be tested, if they name their key themselves.
-#}

{#- The key columns in a unit test: those that the model gives to `macro`. -#}
{% macro _key_in_unit_test(macro, keys) -%}
    {%- if not keys -%}
        {%- do trueup._raise_unit_test_error(macro) -%}
    {%- endif -%}
    {{ return(trueup._names(keys)) }}
{%- endmacro %}


{#- Raises in a unit test of a model that calls `macro`. -#}
{% macro _require_no_unit_test(macro) -%}
    {%- if execute and model.resource_type == 'unit_test' -%}
        {%- do trueup._raise_unit_test_error(macro) -%}
    {%- endif -%}
{%- endmacro %}


{#- Stops a unit test of a model that calls `macro`. -#}
{% macro _raise_unit_test_error(macro) -%}
    {%- do trueup._raise_error(
        'The model of a unit test',
        'one by `trueup.commands` with the argument `keys`, because dbt hides configs from unit tests',
        '`trueup.' ~ macro ~ '`' ~ (' without `keys`' if macro == 'commands'),
        'Add the argument: keys=[...]. It may repeat the config `unique_key`.' if macro == 'commands'
            else 'Test this model with data tests, or test the commands of its collection.'
    ) -%}
{%- endmacro %}
