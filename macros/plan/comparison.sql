{#-
    The comparison that made the corrections, as a dict. It is read from the properties of their table. It is
    empty if somebody has dropped the table: the next comparison makes it again.
-#}
{% macro _get_comparison(corrections) -%}
    {%- set found = {} -%}
    {%- if load_relation(corrections) is none -%}
        {{ return(found) }}
    {%- endif -%}
    {%- for name, value in trueup._get_properties(corrections).items() if name.startswith('trueup.') -%}
        {%- do found.update({name: value}) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}


{#- The properties of the table of the corrections that describe its comparison. -#}
{% macro _comparison_properties(plan, extent) -%}
    {{ return({
        'trueup.after_batch_id': plan.last_batch_id or '',
        'trueup.commands_settled': plan.commands_settled,
        'trueup.compared_by': invocation_id,
        'trueup.compared_keys': extent,
        'trueup.definition': plan.definition,
        'trueup.position': tojson(plan.position),
        'trueup.upper': plan.upper,
    }) }}
{%- endmacro %}


{#- The same properties if there is no comparison yet: on Iceberg a replaced table keeps its old properties. -#}
{% macro _no_comparison_properties() -%}
    {{ return({'trueup.after_batch_id': 'none', 'trueup.upper': 'null'}) }}
{%- endmacro %}
