{#-
    If the select has rows that the corrections do not explain, makes the corrections void, and raises.
    `surplus` is how many more rows are desired than persisted (none if that is not known). `found` is what
    `_get_correction_counts` returns. The two also differ if an input has changed in between; that is no
    error.
-#}
{% macro _ensure_all_accounted_for(collection, surplus, found) -%}
    {%- set corrections = collection.corrections -%}
    {%- if found.repeated > 0 or (surplus is not none and surplus != found.gained) -%}
        {%- set message = trueup._get_duplicate_key_message(collection) -%}
        {%- if message is not none -%}
            {#- First make the comparison void, so that no batch uses its corrections. -#}
            {%- do run_query(
                trueup._set_properties_sql(corrections, trueup._no_comparison_properties())
            ) -%}
            {%- do run_query(
                trueup._step_marker('compare') ~ '\ndelete from ' ~ corrections
                ~ ' where ' ~ trueup._is_for_batch_expr()
            ) -%}
            {%- do exceptions.raise_compiler_error(message) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}
