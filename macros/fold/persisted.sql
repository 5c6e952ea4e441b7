{#-
    The rows that the collection holds before the ticks from `lower` on, as a select: identity,
    `_value`, a struct of the value columns and `_error`, and `_ts`, the tick of the last change.

    The state also holds the provisional updates of eager batches. This select removes them: it
    undoes all later updates of the changelog, except corrections, which are final.

    `columns` are the key and value columns of both tables, each with `name` and `type`.

    Order rows are among them only with `late: newest`. They may be there from an earlier time with this option.
-#}
{% macro _persisted_select(collection, columns, lower) -%}
    {%- set identity = trueup._column_list(collection.identity) -%}
    {%- set value = trueup._persisted_value_expr(collection, columns, collection.state) -%}
    {%- set is_persisted = "_kind <> 'progress'" if collection.options.late == 'newest'
        else "_kind in ('row', 'error')" -%}
    {%- if not collection.options.eager -%}
select {{ identity }}, _ts, {{ value }} as _value
from {{ collection.state }}
where {{ is_persisted }}
    {%- else -%}
with

entries as (

    select {{ identity }}, _ts, {{ value }} as _value, 1 as _diff
    from {{ collection.state }}
    where {{ is_persisted }}
    union all
    select
        {{ identity }},
        _ts,
        {{ trueup._persisted_value_expr(collection, columns, collection.changelog) }} as _value,
        -_diff
    from {{ collection.changelog }}
    where
        {{ trueup._is_provisional_expr(lower) }}
        and _seq <= {{ trueup._last_seq_expr(collection.state) }}

)

select
    {{ identity }},
    max(_ts) as _ts,
    _value
from entries
group by {{ identity }}, _value
having sum(_diff) > 0
    {%- endif -%}
{%- endmacro %}


{#-
    The rows that the collection holds before the batch of a plan, as `_persisted_select` gives them. Before the
    first batch it holds none, even if somebody has written rows into the empty state.
-#}
{% macro _planned_persisted_select(collection, columns, plan) -%}
    {%- set persisted = trueup._persisted_select(
        collection, columns, trueup._session_name(collection.name, 'plan') ~ '.lower'
    ) -%}
    {{ return(persisted if plan.last_seq > 0 else 'select * from ' ~ trueup._subquery(persisted) ~ ' where false') }}
{%- endmacro %}


{#- The struct of the value columns and `_error` of a row of the state or the changelog, which is `table`. -#}
{% macro _persisted_value_expr(collection, columns, table) -%}
    {%- set terms = [] -%}
    {%- for column in columns | rejectattr('name', 'in', collection.unique_key) -%}
        {%- set name = trueup._quoted(column.name) -%}
        {%- set term = trueup._of_known_type_expr(name, column.type, table) -%}
        {%- do terms.append(term if term == name else term ~ ' as ' ~ name) -%}
    {%- endfor -%}
    {{ return('struct(' ~ ((terms + ['_error']) | join(', ')) ~ ')') }}
{%- endmacro %}


{#- Whether a row of the changelog is an update of a tick that was open when the row was written. -#}
{% macro _is_provisional_expr(lower) -%}
_kind = 'update' and _cause is null and _ts >= {{ lower }}
{%- endmacro %}
