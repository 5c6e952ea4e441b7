{#-
    Fails on each open error of a `<collection>_errors` model. How many are too many, and whether
    that warns or fails, is said by dbt's own configs: `severity`, `warn_if: '> 0'`,
    `error_if: '> 100'`. `kinds` are those to look for, all of them by default.
-#}
{% test no_open_errors(model, kinds=none) %}
    {%- set all_kinds = ['value', 'key', 'null_key'] -%}
    {%- for kind in kinds or [] if kind not in all_kinds -%}
        {%- do trueup._raise_error(
            trueup._argument('no_open_errors', 'kinds'), 'a list of ' ~ (all_kinds | join(', ')), kind
        ) -%}
    {%- endfor -%}
select *
from {{ model }}
where _error_kind in ('{{ (kinds or all_kinds) | join("', '") }}')
{% endtest %}
