{#-
    A select of the commands of the ticks `[lower, upper)`, in the form that the fold reads. The
    columns of the changelog are known by name here. So all work that needs their names is done
    here: values get the sequence of columns of the changelog, the value of an error becomes null,
    -0.0 becomes 0.0, and the content gets a hash.

    A truncate has no key. It becomes a step of an identity of its own, which has no value. An error
    key of the log may have the same identity, so `_is_truncate` marks the truncates.

    `columns` are the key and value columns of the changelog, each with `name` and `type`. A column
    that the commands no longer have is null. `partitions`, if given, holds the end of each
    partition for this batch. If the log cannot truncate (`may_truncate` is false), a truncate
    raises, because the steps would miss it.
-#}
{% macro _input_select(
    collection, columns, lower, upper, partitions=none, may_truncate=true
) -%}
    {%- set unique_key, extras = collection.unique_key, collection.extras -%}
    {%- set command_columns, ties = collection.command_columns, collection.options.ties -%}
    {%- set types = {} -%}
    {%- for column in command_columns -%}
        {%- do types.update({column.name | lower: column.type}) -%}
    {%- endfor -%}
    {%- set known = types | list -%}
    {%- set ignored = trueup._schema_changes(command_columns, columns).added -%}
    {%- set keys = columns | selectattr('name', 'in', unique_key) | list -%}
    {%- set values = columns | rejectattr('name', 'in', unique_key) | list -%}
    {%- set is_partial = '_unchanged' in extras -%}
    {%- set step_extras = trueup._step_extras(extras) -%}
with

bounded as (

    select
        * except (_error_key),
        case
            when _op = 'truncate' then 'truncate'
            when {{ trueup._is_order_key_expr() }} then raise_error(concat(
                '`trueup.commands` argument `error_key` must not begin with `{{ trueup._order_key_prefix() }}`.\nGot: ',
                _error_key, '\nChange the expression'
            ))
            else _error_key
        end as _error_key,
        _op = 'upsert' and _error is null and _error_key is null as _is_row
    from {{ collection.commands }}
    where
        _ts >= {{ lower }}
        and _ts < {{ upper }}
        {%- if partitions %}
        -- Leave out commands that came after the plan. The progress row does not count them.
        and _offset < try_element_at({{ trueup._next_offsets_expr(partitions) }}, _partition)
        {%- endif %}

),

{% if is_partial -%}
-- Unchanged values are not part of the content. The old key is part of it if it has an effect.
marked as (

    select
        * except ({{ trueup._column_list(extras | select('in', ['_unchanged', '_old_key'])) }}),
        case when _is_row then array_sort(array_distinct(concat(
            {{ trueup._known_names_expr(values, unique_key + ignored | map(attribute='name') | list) }},
            {{ trueup._marked_names_expr(values, known) if '_unchanged_value' in extras else 'array()' }}
        ))) end as _unchanged
        {%- if '_old_key' in step_extras %},
        cast(_old_key as struct<
            {%- for column in keys %}
            {{- trueup._quoted(column.name) }}: {{ trueup._sql_type(column.type) }}
            {{- ', ' if not loop.last }}
            {%- endfor %}>) as _old_key
        {%- endif %}
    from bounded

),

{% endif -%}
contents as (

    select
        {% for column in keys -%}
        case when _error_key is null then {{ trueup._one_form_expr(column) }} end
            as {{ trueup._quoted(column.name) }},
        {% endfor -%}
        {% for column in values -%}
        {% if column.name | lower in known -%}
        case when _is_row {%- if is_partial %} and not array_contains(
            coalesce(_unchanged, array()), {{ trueup._literal(column.name | lower) }}
        ) {%- endif %} then {{ trueup._one_form_expr(
            column, types[column.name | lower], collection.commands
        ) }} end
        {%- else -%}
        cast(null as {{ trueup._sql_type(column.type) }})
        {%- endif %} as {{ trueup._quoted(column.name) }},
        {% endfor -%}
        case when _op = 'upsert' then {{ trueup._error_text_expr() }} end as _error,
        {% if is_partial -%}
        _unchanged,
        {% endif -%}
        {% if '_old_key' in step_extras -%}
        -- An old key that equals the new key is no change of key, and one of nulls alone is no key:
        -- `struct(old_id)` is never null.
        case
            when size(_unchanged) > 0
                and not (_old_key <=> struct({{ trueup._column_list(unique_key) }}))
                and ({{ trueup._any_not_null_expr(unique_key, '_old_key') }})
                then _old_key
        end as _old_key,
        {% endif -%}
        _error_key,
        _ts,
        _order,
        _op
    from {{ 'marked' if is_partial else 'bounded' }}

)

select
    {{ trueup._column_list(unique_key) }},
    _error_key,
    _ts,
    _order,
    {% for name in step_extras -%}
    {{ name }},
    {% endfor -%}
    {% if ties in ['prefer_delete', 'prefer_upsert'] -%}
    _op = '{{ ties[7:] }}' as _is_preferred,
    {% endif -%}
    _op = 'truncate' as _is_truncate,
    case when _op = 'upsert' then named_struct(
        {%- for column in values %}
        {{ trueup._literal(column.name) }}, {{ trueup._quoted(column.name) }},
        {%- endfor %}
        '_error', _error
    ) end as _value,
    {{ trueup._content_hash_expr(keys, values, step_extras, may_truncate) }} as _hash
from contents
{%- endmacro %}
