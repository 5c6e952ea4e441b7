{#-
    Raises if dbt gives a model only some of the rows: `--empty` and `--sample` put a filter into each `ref`
    and `source`. A row that is filtered out would look like a deleted row, and the next batch would retract
    it. Commands that only compile are allowed.
-#}
{% macro _require_whole_run() -%}
    {%- if execute and flags.WHICH in ['run', 'build'] -%}
        {%- for name in ['empty', 'sample'] if invocation_args_dict.get(name) -%}
            {%- do trueup._raise_error(
                'A run of ' ~ model.name, 'one over all rows, because rows that are left out look deleted',
                'the flag --' ~ name,
                "Nothing is done. Leave the flag out, or exclude the collection; for a dry run set --vars"
                ~ " '{trueup_read_only: true}'."
            ) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
