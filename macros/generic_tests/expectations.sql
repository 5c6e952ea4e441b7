{#-
    The rules of a collection, as JSON. `trueup check` renders this macro with `dbt compile --inline`. The queries are
    those of the generic tests.
-#}
{% macro expectations(collection, max_errors=0) -%}
    {%- if max_errors is not integer or max_errors < 0 -%}
        {%- do trueup._raise_error(
            trueup._argument('expectations', 'max_errors'), 'an integer, at least 0', max_errors,
            'Call it again with such a number, or leave the argument out.'
        ) -%}
    {%- endif -%}
    {%- if execute -%}
        {%- set tables = trueup._get_tables_of(collection) -%}
        {%- set model = trueup._enabled_models(collection)[0] -%}
        {%- set commands = trueup._enabled_models(collection ~ '_commands') -%}
        {%- set key = trueup._key_of_collection(collection) -%}
        {%- do trueup._require_key_of_changelog(
            collection, tables.changelog, key, trueup._get_properties(tables.changelog)
        ) -%}
        {%- set null_keys = trueup._given_option(commands[0] if commands else model, 'null_keys') -%}
        {#- A collection by a select has no commands. It takes a null key like any other key. -#}
        {%- set may_be_null = key | length > 1 or null_keys == 'value' or not commands -%}
        {%- set inline_errors = trueup._given_option(model, 'inline_errors') if commands else none -%}
        {%- set is_plain = trueup._is_plain_key(key, may_be_null) -%}
{{ tojson({
    'name': collection,
    'table': tables.rows | string,
    'unique': key if is_plain else [],
    'not_null': [] if may_be_null else key if is_plain else [],
    'checks': (trueup._expected_key_checks(tables, key, may_be_null) if not is_plain else [])
        + trueup._get_changelog_checks(tables, key)
        + trueup._get_reader_checks(tables, key, inline_errors)
        + trueup._expected_error_checks(tables, max_errors)
}) }}
    {%- endif -%}
{%- endmacro %}


{#-
    The tables and views of a collection, by role. On some catalogs dbt does not know whether a view exists.
-#}
{% macro _get_tables_of(collection) -%}
    {%- set tables = {} -%}
    {%- for role in ['changelog', 'state'] -%}
        {%- do tables.update({role: trueup._get_relation_of(collection, role, macro='expectations')}) -%}
    {%- endfor -%}
    {%- set views = {'rows': collection} -%}
    {%- for role in ['errors', 'completeness'] if trueup._enabled_models(collection ~ '_' ~ role) -%}
        {%- do views.update({role: collection ~ '_' ~ role}) -%}
    {%- endfor -%}
    {%- for role, name in views.items() -%}
        {%- do tables.update({role: trueup._named_relation(collection, name, 'expectations')}) -%}
    {%- endfor -%}
    {{ return(tables) }}
{%- endmacro %}


{#-
    Whether the built-in expectations of Great Expectations can check the key. They cannot take every column
    name, and for a single column they skip nulls.
-#}
{% macro _is_plain_key(key, may_be_null) -%}
    {%- set text = key | join -%}
    {{ return('.' not in text and '`' not in text and (key | length > 1 or not may_be_null)) }}
{%- endmacro %}


{#- The rows of a select that meet a condition. -#}
{% macro _rows_where_select(select, condition) -%}
select *
from (
    {{ select }}
)
where {{ condition }}
{%- endmacro %}


{#- The value of an option as the folder or the model sets it; none if neither sets it. -#}
{% macro _given_option(node, name) -%}
    {{ return(trueup._given_options(node.config.meta).get(name)) }}
{%- endmacro %}
