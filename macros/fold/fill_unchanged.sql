{#-
    CTEs that fill the unchanged values of each command. Each column gets the last known value of
    the key. `source` has a column `_unchanged`.

    Each key is cut into segments. A segment begins with a step that does not depend on earlier
    steps: the persisted value, a whole command, a delete, or an error. If keys change, a command
    with an old key also begins a segment.

    A delete leaves no values, so unchanged columns after it are null. An error has no values
    either, and it stays until a whole command comes.

    Reads: the relation `source`. Ends with: `filled`.
-#}
{% macro _filled_ctes(source, identity, values, sequence, changes_keys) -%}
    {%- set columns = trueup._column_list(identity) -%}
    {%- set in_sequence = '_step, _ts, ' ~ (sequence | join(', ')) -%}
    {#- No WINDOW clause: Spark cannot find one inside a CTE of a view. -#}
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
                ) then struct(_value.{{ trueup._quoted(name) }} as _value)
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


{#- Identifies a step. Only duplicates of a step share its id. -#}
{% macro _step_id_expr(identity) -%}
    {{ return('struct(' ~ trueup._column_list(identity) ~ ', _ts, _order, _hash)') }}
{%- endmacro %}
