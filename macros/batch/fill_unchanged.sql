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
    For each change of key that leaves values unchanged, what its old key had just before, as a
    select: `_id` of the step, its `_value` and `_missing`, and `_base` with those of the old key.

    `steps` are the steps that `select_steps` makes, filled within each key.
-#}
{% macro select_bases(steps, identity, sequence) -%}
with

carriers as (

    select distinct
        {{ trueup._step_id_expr(identity) }} as _id,
        _ts,
        _order,
        _old_key,
        _value,
        _missing
    from {{ steps }}
    where _carrier <=> {{ trueup._step_id_expr(identity) }}

)

select
    carriers._id,
    carriers._value,
    carriers._missing,
    max_by(
        struct(steps._value, steps._missing, steps._carrier),
        struct({{ trueup._column_list(['_step', '_ts'] + sequence[:-1], alias='steps') }})
    ) as _base
from carriers
left join {{ steps }} as steps
    on steps._error_key is null
    {% for name in identity[:-1] -%}
    and steps.{{ trueup._quote(name) }} <=> carriers._old_key.{{ trueup._quote(name) }}
    {% endfor -%}
    and (
        steps._step < 2
        or struct(steps._ts, steps._order) < struct(carriers._ts, carriers._order)
        -- A truncate of the same order is older; the delete that it makes has no content.
        or steps._hash is null and steps._ts = carriers._ts and steps._order = carriers._order
    )
group by all
{%- endmacro %}


{#-
    What each change of key comes to, as a select of `_id` and `_value`. The old key may itself have
    got its values by a change of key in this batch, and so on: hence the recursion, which takes one
    round for each link of the longest chain.
-#}
{% macro resolve_bases(bases, values) -%}
with recursive chain as (

    select _id, {{ trueup._merged_expr(values, '_value', '_missing', '_base._value') }} as _value
    from {{ bases }}
    where _base._carrier is null

    union all

    select
        bases._id,
        {{ trueup._merged_expr(
            values, 'bases._value', 'bases._missing',
            trueup._merged_expr(values, '_base._value', '_base._missing', 'chain._value')
        ) }} as _value
    from {{ bases }} as bases
    inner join chain on bases._base._carrier <=> chain._id

)

select * from chain
{%- endmacro %}


{#- The steps with the values that a change of key has left unchanged, as a select. -#}
{% macro select_carried(steps, resolved, values) -%}
select
    steps.* except (_value, _carrier, _missing, _old_key),
    case
        when steps._carrier is null then steps._value
        else {{ trueup._merged_expr(values, 'steps._value', 'steps._missing', 'resolved._value') }}
    end as _value
from {{ steps }} as steps
left join {{ resolved }} as resolved on steps._carrier <=> resolved._id
{%- endmacro %}


{#- What tells one step from all others but its duplicates. -#}
{% macro _step_id_expr(identity) -%}
    {{ return('struct(' ~ trueup._column_list(identity) ~ ', _ts, _order, _hash)') }}
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
                        then _base_value.{{ trueup._quote(name) }}
                    else {{ value }}.{{ trueup._quote(name) }}
                end,
                {%- endfor %}
                '_error', {{ value }}._error
            )
        end)[0]
{%- endmacro %}
