{#-
    Raises where dbt hands a model less than all rows: `--empty` and `--sample` put a filter into each
    `ref` and `source`. The rows that are filtered out would look like rows that are gone, and the next
    batch would retract them. What only compiles may do so.
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
