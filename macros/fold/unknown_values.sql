{#-
    Keys whose first commands are lost (`log: partial`), in a log where values move from key to key.

    The persisted value of an old key may differ from the value that it had at the time, or may be gone.
    So every key begins with the unknown: a step that leaves all columns unchanged. Columns that are
    still unknown at the end get the persisted value of the key itself. That value was made when all
    commands were there. If the key has none, they get the persisted value of the key that they come
    from.
-#}

{#-
    CTEs that put the unknown step before the commands.

    Reads: `given`, the relation `persisted`. Ends with: `prior_and_given`.
-#}
{% macro _unknown_ctes(collection, persisted, values, step_extras, has_truncates) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set identity, sequence = collection.identity, trueup._sequence_terms(collection.options) -%}
    {%- set columns = trueup._column_list(identity) -%}
touched as (

    select {{ columns }} from given
    union
    select _old_key.*, null as _error_key from given where _old_key is not null
    {%- if has_truncates %}
    union
    select {{ columns }} from {{ persisted }}
    {%- endif %}

),

prior_and_given as (

    select * from given
    union all
    select
        {{ columns }},
        {{ step.prior }} as _step,
        null as _ts,
        null as _cause,
        {% for name in sequence[:-1] -%}
        null as {{ name }},
        {% endfor -%}
        named_struct(
            {%- for name in values %}
            {{ trueup._literal(name) }}, null,
            {%- endfor %}
            '_error', null
        ) as _value,
        array({{ trueup._literal_list(values | map('lower')) }}) as _unchanged,
        struct({{ trueup._column_list(identity[:-1]) }}) as _old_key
        {%- for name in step_extras[2:] %},
        null as {{ name }}
        {%- endfor %}
    from touched

)
{%- endmacro %}


{#- A select of the resolved links and the links of the unknown, completed with persisted values. -#}
{% macro _known_links_select(links, steps, persisted, identity, values) -%}
    {%- set step = trueup._step_numbers() -%}
with

all_links as (

    select _id, _value, _missing, _next_id from {{ links }}
    union all
    select _carrier as _id, _value, _missing, _carrier as _next_id from {{ steps }} where _step = {{ step.prior }}

)

select
    links._id,
    case
        when links._next_id is null then links._value
        else {{ trueup._merged_expr(
            values, 'links._value', 'links._missing', 'coalesce(own._value, origin._value)'
        ) }}
    end as _value
from all_links as links
    {%- for alias, id in [('own', 'links._id'), ('origin', 'links._next_id')] %}
left join {{ persisted }} as {{ alias }}
    on {{ trueup._same_key_expr(identity, alias, id) }}
    {%- endfor %}
{%- endmacro %}
