{#-
    The steps with the values that they carry from key to key, as a select.

    If steps may carry values, one statement reads them many times. So this macro writes them to a
    table. It also writes the changes of key to a table, because their chains are resolved in
    rounds. `_ensure_no_step_tables` drops both tables.

    If steps begin with the unknown, `persisted` has the persisted value of each key. Otherwise it
    is none.
-#}
{% macro _ensure_carried_values(collection, steps, values, persisted=none) -%}
    {%- if not trueup._has_carried_values(collection.extras) -%}
        {{ return(steps) }}
    {%- endif -%}
    {%- do trueup._ensure_no_leftover_step_tables() -%}
    {%- set kept, links = trueup._step_table(), trueup._step_table('_links') -%}
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


{#- Whether unchanged values may come from another key. -#}
{% macro _has_carried_values(extras) -%}
    {{ return('_old_key' in extras and '_unchanged' in extras) }}
{%- endmacro %}


{#- The steps, as a select. Values that a change of key left unchanged are filled in. -#}
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
    A value whose missing columns come from a base. If the base is an error, the result is that
    error.

    The base may itself be a merged expression. The lambda binds it once, so that it is not repeated
    for each column.
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
