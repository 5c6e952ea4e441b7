{#- The isolation level of the tables, on which two runs at once rely. -#}

{#-
    Raises if the properties of a table would let a run commit after it has lost to another run: below
    `serializable`, two appends of one batch may not conflict.
-#}
{% macro _require_serializable(subject, properties, next_step) -%}
    {%- for name in trueup._weak_isolations(properties) -%}
        {%- do trueup._raise_error(
            subject, 'with the isolation level serializable, which two runs at once rely on',
            name ~ ' = ' ~ properties[name], next_step
        ) -%}
    {%- endfor -%}
{%- endmacro %}


{#- The names of the properties that weaken the isolation of a table. -#}
{% macro _weak_isolations(properties) -%}
    {%- set weak = [] -%}
    {%- for name, value in properties.items() -%}
        {%- set is_isolation = name | lower in [
            'write.delete.isolation-level', 'write.update.isolation-level',
            'write.merge.isolation-level', 'delta.isolationlevel'
        ] -%}
        {%- if is_isolation and value | string | lower != 'serializable' -%}
            {%- do weak.append(name) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(weak) }}
{%- endmacro %}


{#- The properties of a table. Raises unless they isolate the table as the protocol needs it. -#}
{% macro _get_isolated_properties(relation) -%}
    {%- set properties = trueup._get_properties(relation) -%}
    {%- do trueup._require_serializable(
        'The table ' ~ relation, properties,
        'Set it back: alter table ' ~ relation ~ " set tblproperties ('<the property>' ="
        ~ " 'serializable')."
    ) -%}
    {{ return(properties) }}
{%- endmacro %}


{#- The same check for a caller that does not need the properties. -#}
{% macro _require_isolated(relation) -%}
    {%- do trueup._get_isolated_properties(relation) -%}
{%- endmacro %}
