{#-
    Fails on each finding of a `<collection>_completeness` model: a gap, a regression or a recreated
    partition. `findings` lists the kinds to look for; by default all of them.
-#}
{% test is_complete(model, findings=none) %}
    {%- set kinds = ['gap', 'regression', 'recreated'] -%}
    {%- for finding in findings or [] if finding not in kinds -%}
        {%- do trueup._raise_error(
            trueup._argument('is_complete', 'findings'), 'a list of ' ~ (kinds | join(', ')), finding
        ) -%}
    {%- endfor -%}
select *
from {{ model }}
where _finding in ('{{ (findings or kinds) | join("', '") }}')
{% endtest %}
