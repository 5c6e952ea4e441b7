{#-
    Fails if a table differs from the certificates of its changelog: on each bucket of keys of a state or of
    a collection view, on each batch of a changelog. The columns of `model` show which kind it is. So this
    test queries the warehouse for the columns; no model does that.
-#}
{% test matches_certificate(model, unique_key, changelog=none, inline_errors=none) %}
    {%- do trueup._require_whole_table('matches_certificate') -%}
    {%- do trueup._require_list(
        trueup._argument('matches_certificate', 'unique_key'), unique_key
    ) -%}
    {%- if execute and flags.WHICH in ['compile', 'generate'] -%}
{#- `dbt compile` must work before the first run. -#}
select * from {{ model }}
    {%- elif execute -%}
        {%- set described = trueup._get_columns('select * from ' ~ model) -%}
        {%- set names = described | map(attribute='name') | list -%}
        {%- if '_certificate' in names -%}
            {%- do trueup._require_key_of_test('matches_certificate', unique_key, model) -%}
            {%- set columns = trueup._user_columns(described) -%}
{{ trueup._damaged_batches_select(model, trueup._names_of_columns(unique_key, columns), columns) }}
        {%- else -%}
            {%- if not changelog -%}
                {%- do trueup._raise_error(
                    trueup._argument('matches_certificate', 'changelog'),
                    'the changelog of the collection, such as ref(\'files_changelog\')', changelog
                ) -%}
            {%- endif -%}
            {%- do trueup._require_key_of_test('matches_certificate', unique_key, changelog) -%}
            {%- set columns = trueup._get_user_columns(changelog) -%}
            {%- if not inline_errors and '_kind' not in names -%}
                {%- do trueup._require_columns_of_certificate(names, columns) -%}
            {%- endif -%}
{{ trueup._certificate_differences_select(
    model, changelog, trueup._names_of_columns(unique_key, columns), columns,
    is_state='_kind' in names, inline_errors=inline_errors
) }}
        {%- endif -%}
    {%- endif -%}
{% endtest %}


{#-
    Raises if a view has a column of inline errors, and the test does not know it. The test would take each error for a
    row of nulls, and so for a difference.
-#}
{% macro _require_columns_of_certificate(names, columns) -%}
    {%- set known = columns | map(attribute='name') | map('lower') | list -%}
    {%- set others = names | map('lower') | reject('in', known) | list -%}
    {%- if others -%}
        {%- do trueup._raise_error(
            trueup._argument('matches_certificate', 'inline_errors'),
            'the column of the option `inline_errors`, because the view has a column that its changelog does not have',
            'no argument, and the column ' ~ (others | join(', '))
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The key with the names of the changelog. A digest depends on the case of names; Spark does not. -#}
{% macro _names_of_columns(unique_key, columns) -%}
    {%- set spelled = {} -%}
    {%- for column in columns -%}
        {%- do spelled.update({column.name | lower: column.name}) -%}
    {%- endfor -%}
    {%- set names = [] -%}
    {%- for name in unique_key -%}
        {%- if name | lower not in spelled -%}
            {%- do trueup._raise_error(
                trueup._argument('matches_certificate', 'unique_key'),
                'columns of the changelog: ' ~ (spelled.values() | join(', ')), name
            ) -%}
        {%- endif -%}
        {%- do names.append(spelled[name | lower]) -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro %}
