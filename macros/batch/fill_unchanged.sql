{#-
    CTEs that give each command the values that it leaves unchanged: the last ones known of its key,
    by column. They read `source`, which has `_unchanged`, and end with `filled`.

    A segment of a key begins with a step that owes nothing to those before it: what is persisted, a
    whole command, a delete, an error, or, where keys change, a command with an old key. Nothing
    can be kept from a delete, so what it leaves is null; nor from an error, which stays until a
    whole command comes.
-#}
{% macro fill_unchanged(source, identity, values, sequence, changes_keys) -%}
    {%- set columns = trueup._column_list(identity) -%}
    {%- set in_sequence = '_step, _ts, ' ~ (sequence | join(', ')) -%}
    {#- No WINDOW clause: Spark does not find one that is inside a CTE of a view. -#}
    {%- set segment -%}
partition by {{ columns }}, _segment order by {{ in_sequence }} rows unbounded preceding
    {%- endset %}
segmented as (

    select
        *,
        count_if(
            _value is null or _value._error is not null or coalesce(size(_unchanged), 0) <= 0
            {%- if changes_keys %} or _old_key is not null{% endif %}
        ) over (
            partition by {{ columns }} order by {{ in_sequence }} rows unbounded preceding
        ) as _segment
    from {{ source }}

),

known as (

    select
        *,
        first_value(_value) over ({{ segment }}) as _first_value,
        {% if changes_keys -%}
        first_value(
            case
                when _old_key is not null and _value._error is null and size(_unchanged) > 0
                    then {{ trueup._step_id_expr(identity) }}
            end
        ) over ({{ segment }}) as _carrier,
        {% endif -%}
        {% for name in values -%}
        last_value(
            case
                when not array_contains(
                    coalesce(_unchanged, array()), {{ trueup._literal(name | lower) }}
                ) then struct(_value.{{ trueup._quote(name) }} as _value)
            end, true
        ) over ({{ segment }}) as _known_{{ loop.index }}{{ ',' if not loop.last }}
        {% endfor -%}
    from segmented

),

filled as (

    select
        {{ columns }},
        _step,
        _ts,
        _cause,
        {% for name in sequence[:-1] -%}
        {{ name }},
        {% endfor -%}
        {% if changes_keys -%}
        _old_key,
        _carrier,
        filter(array(
            {%- for name in values %}
            case when _known_{{ loop.index }} is null then {{ trueup._literal(name) }} end
            {{- ',' if not loop.last }}
            {%- endfor %}
        ), _name -> _name is not null) as _missing,
        {% endif -%}
        case
            when _value is null then null
            when _first_value._error is not null then _first_value
            else named_struct(
                {%- for name in values %}
                {{ trueup._literal(name) }}, _known_{{ loop.index }}._value,
                {%- endfor %}
                '_error', _value._error
            )
        end as _value
    from known

)
{%- endmacro %}


{#-
    CTEs that take the values which a change of key leaves unchanged from the old key, as it was
    just before. They read `filled` and end with `carried`.

    The old key may itself have got its values by a change of key in this batch, and so on: hence
    the recursion, which takes one round for each link of the longest chain.
-#}
{% macro carry_unchanged(identity, values, sequence) -%}
    {%- set columns = trueup._column_list(identity) -%}
carriers as (

    select distinct
        {{ trueup._step_id_expr(identity) }} as _id,
        _ts,
        _order,
        _old_key,
        _value,
        _missing
    from filled
    where _carrier <=> {{ trueup._step_id_expr(identity) }}

),

bases as (

    select
        carriers._id,
        carriers._value,
        carriers._missing,
        max_by(
            struct(filled._value, filled._missing, filled._carrier),
            struct({{ trueup._column_list(['_step', '_ts'] + sequence[:-1], alias='filled') }})
        ) as _base
    from carriers
    left join filled
        on filled._error_key is null
        {% for name in identity[:-1] -%}
        and filled.{{ trueup._quote(name) }} <=> carriers._old_key.{{ trueup._quote(name) }}
        {% endfor -%}
        and (
            filled._step < 2
            or struct(filled._ts, filled._order) < struct(carriers._ts, carriers._order)
        )
    group by all

),

resolved as (

    with recursive chain as (

        select _id, {{ trueup._merged_expr(values, '_value', '_missing', '_base._value') }} as _value
        from bases
        where _base._carrier is null

        union all

        select
            bases._id,
            {{ trueup._merged_expr(
                values, 'bases._value', 'bases._missing',
                trueup._merged_expr(values, '_base._value', '_base._missing', 'chain._value')
            ) }} as _value
        from bases
        inner join chain on bases._base._carrier <=> chain._id

    )

    select * from chain

),

carried as (

    select
        filled.* except (_value),
        case
            when filled._carrier is null then filled._value
            else {{ trueup._merged_expr(
                values, 'filled._value', 'filled._missing', 'resolved._value'
            ) }}
        end as _value
    from filled
    left join resolved on filled._carrier <=> resolved._id

)
{%- endmacro %}


{#- What tells one step from all others but its duplicates. -#}
{% macro _step_id_expr(identity) -%}
    {{ return('struct(' ~ trueup._column_list(identity) ~ ', _ts, _order, _hash)') }}
{%- endmacro %}


{#- A value whose missing columns are those of a base; an error where the base is one. -#}
{% macro _merged_expr(values, value, missing, base) -%}
case
            when {{ value }} is null then null
            when {{ base }}._error is not null then {{ base }}
            else named_struct(
                {%- for name in values %}
                {{ trueup._literal(name) }}, case
                    when array_contains({{ missing }}, {{ trueup._literal(name) }})
                        then {{ base }}.{{ trueup._quote(name) }}
                    else {{ value }}.{{ trueup._quote(name) }}
                end,
                {%- endfor %}
                '_error', {{ value }}._error
            )
        end
{%- endmacro %}
