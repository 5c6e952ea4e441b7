{#-
    The steps with what they carry from key to key, as a select. Where they may carry anything they are
    read many times in one statement: they are written to a table, and so are the changes of key, whose
    chains are resolved in rounds. `_ensure_no_kept_steps` drops both.

    `persisted` has what is persisted of each key where steps begin with the unknown, or is none.
-#}
{% macro _ensure_carried_values(collection, steps, values, persisted=none) -%}
    {%- if not trueup._has_carried_values(collection.extras) -%}
        {{ return(steps) }}
    {%- endif -%}
    {%- do trueup._ensure_no_left_steps() -%}
    {%- set kept, links = trueup._kept_steps(), trueup._kept_steps('_links') -%}
    {%- do run_query(trueup._create_table_sql(kept, steps, replace=true)) -%}
    {%- do run_query(trueup._create_table_sql(
        links,
        trueup._links_select(
            kept, collection.identity, trueup._sequence_terms(collection.options)
        ),
        replace=true
    )) -%}
    {%- do trueup._ensure_resolved_links(links, values) -%}
    {%- if persisted -%}
        {%- set links = trueup._subquery(trueup._known_links_select(
            links, kept, persisted, collection.identity, values
        )) -%}
    {%- endif -%}
    {{ return(trueup._carried_select(kept, links, values)) }}
{%- endmacro %}


{#- Whether values that are left unchanged may come from another key. -#}
{% macro _has_carried_values(extras) -%}
    {{ return('_old_key' in extras and '_unchanged' in extras) }}
{%- endmacro %}


{#- The steps with the values that a change of key has left unchanged, as a select. -#}
{% macro _carried_select(steps, links, values) -%}
select
    steps.* except (_value, _carrier, _missing, _old_key),
    case
        when steps._carrier is null then steps._value
        else {{ trueup._merged_expr(values, 'steps._value', 'steps._missing', 'links._value') }}
    end as _value
from {{ steps }} as steps
left join {{ links }} as links on steps._carrier = links._id
{%- endmacro %}


{#-
    A value whose missing columns are those of a base; an error where the base is one. The lambda
    keeps the base, which may be such an expression itself, from being written once per column.
-#}
{% macro _merged_expr(values, value, missing, base) -%}
transform(array({{ base }}), _base_value -> case
            when {{ value }} is null then null
            when _base_value._error is not null then _base_value
            else named_struct(
                {%- for name in values %}
                {{ trueup._literal(name) }}, case
                    when array_contains({{ missing }}, {{ trueup._literal(name) }})
                        then _base_value.{{ trueup._quoted(name) }}
                    else {{ value }}.{{ trueup._quoted(name) }}
                end,
                {%- endfor %}
                '_error', {{ value }}._error
            )
        end)[0]
{%- endmacro %}
