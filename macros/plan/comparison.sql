{#- What the table of the corrections says of the comparison that it was made by, as a dict. -#}
{% macro _get_comparison(corrections) -%}
    {%- set found = {} -%}
    {%- for row in run_query('show tblproperties ' ~ corrections) if row[0].startswith('trueup.') -%}
        {%- do found.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}


{#- What the table of the corrections keeps of the comparison that it was made by. -#}
{% macro _comparison_properties(plan) -%}
    {{ return({
        'trueup.after_batch_id': plan.last_batch_id or '',
        'trueup.commands_settled': plan.commands_settled,
        'trueup.compared_by': invocation_id,
        'trueup.upper': plan.upper,
    }) }}
{%- endmacro %}


{#- The same where there is none yet: a replaced table keeps the properties that it had. -#}
{% macro _no_comparison() -%}
    {{ return({'trueup.after_batch_id': 'none', 'trueup.upper': 'null'}) }}
{%- endmacro %}
