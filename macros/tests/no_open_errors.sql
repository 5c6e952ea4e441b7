{#-
    Fails on each open error. The model is a collection or its `<collection>_errors`. dbt's own configs set how many errors
    are too many, and whether the test warns or fails: `severity`, `warn_if: '> 0'`, `error_if: '> 100'`. `kinds` lists the
    kinds to look for; by default all of them.
-#}
{% test no_open_errors(model, kinds=none) %}
    {%- set all_kinds = ['value', 'key', 'null_key', 'tie', 'order'] -%}
    {%- for kind in kinds or [] if kind not in all_kinds -%}
        {%- do trueup._raise_error(
            trueup._argument('no_open_errors', 'kinds'), 'a list of ' ~ (all_kinds | join(', ')), kind
        ) -%}
    {%- endfor -%}
select *
from {{ trueup._subquery(trueup._get_errors_select(model)) if execute and flags.WHICH not in ['compile', 'generate'] else model }}
where _error_kind in ({{ trueup._literal_list(kinds or all_kinds) }})
{% endtest %}


{#- A select of the errors of a collection. `relation` is the collection, or a model that has the errors. -#}
{% macro _get_errors_select(relation) -%}
    {%- set has_errors = trueup._get_columns('select * from ' ~ relation) | selectattr('name', 'eq', '_error_kind') | list -%}
    {%- if not has_errors -%}
        {%- do trueup._require_whole_table('no_open_errors') -%}
    {%- endif -%}
    {{ return('select * from ' ~ relation if has_errors else trueup._errors_select(relation)) }}
{%- endmacro %}


{#-
    Raises if dbt gives a test only some of the rows of its table (dbt's config `where`). The rows left out would
    look like damage.
-#}
{% macro _require_whole_table(test) -%}
    {%- if config.get('where') -%}
        {%- do trueup._raise_error(
            'The test `trueup.' ~ test ~ '`', 'without the config `where`, because it reads the store of the collection',
            config.get('where'), 'Leave out `where` for this test.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
