{#-
    Fails on each open error of a `<collection>_errors` model. dbt's own configs set how many errors are too
    many, and whether the test warns or fails: `severity`, `warn_if: '> 0'`, `error_if: '> 100'`. `kinds`
    lists the kinds to look for; by default all of them.
-#}
{% test no_open_errors(model, kinds=none) %}
    {%- set all_kinds = ['value', 'key', 'null_key', 'tie', 'order'] -%}
    {%- for kind in kinds or [] if kind not in all_kinds -%}
        {%- do trueup._raise_error(
            trueup._argument('no_open_errors', 'kinds'), 'a list of ' ~ (all_kinds | join(', ')), kind
        ) -%}
    {%- endfor -%}
select *
from {{ model }}
where _error_kind in ('{{ (kinds or all_kinds) | join("', '") }}')
{% endtest %}
