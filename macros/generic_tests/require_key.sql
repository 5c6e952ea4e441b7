{#-
    Raises if the key of a test is not the one that the changelog was made with: with another key, good rows look
    like damage. The sequence of the columns and their case do not matter. A table that does not say its key, or
    whose key Spark hides, is believed.
-#}
{% macro _require_key_of_test(test, unique_key, changelog) -%}
    {%- set made_with = trueup._get_properties(changelog).get('trueup.unique_key', '') | lower -%}
    {%- set came = trueup._column_list(unique_key) | lower -%}
    {%- if made_with and '(redacted)' not in made_with
            and made_with.split(', ') | sort != came.split(', ') | sort -%}
        {%- do trueup._raise_error(
            trueup._argument(test, 'unique_key'),
            'the key that ' ~ changelog ~ ' was made with: ' ~ made_with, came
        ) -%}
    {%- endif -%}
{%- endmacro %}
