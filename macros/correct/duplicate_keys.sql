{#-
    Raises where the select has rows that the corrections do not account for, and takes these back.
    `surplus` says how many rows are desired more than are persisted (none where that is not known),
    `found` what `_get_correction_counts` did. They differ, too, where an input has changed in between,
    which is no error.
-#}
{% macro _require_all_accounted_for(collection, surplus, found) -%}
    {%- set corrections = collection.corrections -%}
    {%- if found.repeated > 0 or (surplus is not none and surplus != found.gained) -%}
        {%- set message = trueup._get_duplicate_key_message(collection) -%}
        {%- if message is not none -%}
            {#- First of all the comparison is void, so that no batch takes up what is left of it. -#}
            {%- do run_query(
                trueup._set_properties_sql(corrections, trueup._no_comparison())
            ) -%}
            {%- do run_query(
                trueup._step_marker('discard') ~ '\ndelete from ' ~ corrections ~ " where not (_cause <=> 'external_edit')"
            ) -%}
            {%- do exceptions.raise_compiler_error(message) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}
