{#- The comparison that made the corrections, as a dict. It is read from the properties of their table. -#}
{% macro _get_comparison(corrections) -%}
    {%- set found = {} -%}
    {%- for name, value in trueup._get_properties(corrections).items() if name.startswith('trueup.') -%}
        {%- do found.update({name: value}) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}


{#- The properties of the table of the corrections that describe its comparison. -#}
{% macro _comparison_properties(plan) -%}
    {{ return({
        'trueup.after_batch_id': plan.last_batch_id or '',
        'trueup.commands_settled': plan.commands_settled,
        'trueup.compared_by': invocation_id,
        'trueup.upper': plan.upper,
    }) }}
{%- endmacro %}


{#- The same properties if there is no comparison yet: a replaced table keeps its old properties. -#}
{% macro _no_comparison() -%}
    {{ return({'trueup.after_batch_id': 'none', 'trueup.upper': 'null'}) }}
{%- endmacro %}
