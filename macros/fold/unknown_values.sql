{#-
    Keys of which the log has lost the beginning (`log: partial`), where values go from key to key. What
    is persisted is not what an old key held at the time: it may be gone by now, or another. So every
    key begins with the unknown: a step that leaves all columns unchanged. What is still unknown in the
    end is what is persisted: of the key itself, which had it when all commands were there; else of
    the key that it would have come from.
-#}

{#-
    CTEs that put that step before the commands.

    Reads: `given`, the relation `persisted`. Ends with: `prior_and_given`.
-#}
{% macro _unknown_ctes(collection, persisted, values, marks, every_key) -%}
    {%- set identity, sequence = collection.identity, trueup._sequence_terms(collection.options) -%}
    {%- set columns = trueup._column_list(identity) -%}
    {%- set names = [] -%}
    {%- for name in values -%}
        {%- do names.append(trueup._literal(name | lower)) -%}
    {%- endfor -%}
touched as (

    select {{ columns }} from given
    union
    select _old_key.*, null as _error_key from given where _old_key is not null
    {%- if every_key %}
    union
    select {{ columns }} from {{ persisted }}
    {%- endif %}

),

prior_and_given as (

    select * from given
    union all
    select
        {{ columns }},
        0 as _step,
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
        array({{ names | join(', ') }}) as _unchanged,
        struct({{ trueup._column_list(identity[:-1]) }}) as _old_key
        {%- for name in marks[2:] %},
        null as {{ name }}
        {%- endfor %}
    from touched

)
{%- endmacro %}


{#- The links, resolved, and those of the unknown, with what is persisted, as a select. -#}
{% macro _known_links_select(links, steps, persisted, identity, values) -%}
with

all_links as (

    select _id, _value, _missing, _next_id from {{ links }}
    union all
    select _carrier as _id, _value, _missing, _carrier as _next_id from {{ steps }} where _step = 0

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
