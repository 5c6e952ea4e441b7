{#-
    One round, as a select of the same links. If a link has a next link, its missing columns come
    from that link, and it takes over the next link of that link. A next id without a tick is not a
    link. It is the unknown that the steps of a key begin with.
-#}
{% macro _doubled_links_select(links, values) -%}
with

roles as (

    select
        links.*,
        inlined._step_of,
        inlined._is_asking
    from {{ links }} as links
    lateral view inline(
        filter(
            array(
                named_struct('_step_of', _id, '_is_asking', false),
                named_struct('_step_of', _next_id, '_is_asking', true)
            ),
            role -> not role._is_asking or role._step_of._ts is not null
        )
    ) inlined as _step_of, _is_asking

),

answered as (

    select
        *,
        first_value(
            case when not _is_asking then struct(_value, _missing, _next_id) end, true
        ) over (partition by _step_of) as _value_held
    from roles

)

select
    _id,
    case
        when _is_asking
            then {{ trueup._merged_expr(values, '_value', '_missing', '_value_held._value') }}
        else _value
    end as _value,
    case
        when _is_asking then array_intersect(_missing, _value_held._missing) else _missing
    end as _missing,
    case when _is_asking then _value_held._next_id else _next_id end as _next_id
from answered
where _is_asking or _next_id._ts is null
{%- endmacro %}


{#- Doubles the links in a table until no link has a next link. -#}
{% macro _ensure_resolved_links(links, values) -%}
    {%- set open_count = run_query(
        'select count(*) from ' ~ links ~ ' where _next_id._ts is not null'
    ).rows[0][0] -%}
    {%- if open_count > 0 -%}
        {%- do run_query(trueup._create_table_sql(
            links, trueup._doubled_links_select(links, values), replace=true
        )) -%}
        {%- do trueup._ensure_resolved_links(links, values) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    CTEs that resolve the links in one select and end with `links`. They are for a view: a view
    cannot loop, and Spark cannot plan many rounds in one. The recursion takes one round for each
    link of the longest chain above the settled ticks.

    Reads: the relation `steps`. Ends with: `links`.
-#}
{% macro _resolved_links_ctes(steps, identity, sequence, values) -%}
open_links as (

{{ trueup._links_select(steps, identity, sequence) }}

),

links as (

    with recursive chain max recursion level 1000000 as (

        select _id, {{ trueup._merged_expr(values, '_value', '_missing', '_value') }} as _value
        from open_links
        where _next_id is null

        union all

        select
            open_links._id,
            {{ trueup._merged_expr(
                values, 'open_links._value', 'open_links._missing', 'chain._value'
            ) }} as _value
        from open_links
        inner join chain on open_links._next_id <=> chain._id

    )

    select * from chain

)
{%- endmacro %}


{#-
    Steps with the values that they carry from key to key, as one select. It writes no table, unlike
    `_ensure_carried_values`. Steps that carry nothing stay as they are.

    `steps` is the select that `_steps_select` makes.
-#}
{% macro _resolved_steps_select(collection, steps, values) -%}
    {%- if not trueup._has_carried_values(collection.extras) -%}
        {{ return(steps) }}
    {%- endif -%}
with

filled as (

{{ steps }}

),

{{ trueup._resolved_links_ctes(
    'filled', collection.identity, trueup._sequence_terms(collection.options), values
) }}

{{ trueup._carried_select('filled', 'links', values) }}
{%- endmacro %}
