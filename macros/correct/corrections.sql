{#-
    The corrections of the next batch, as a select: one row for each key whose persisted value is not the
    desired value. See the YAML beside this file.

    Three objects of the Spark session carry facts that are known only at run time. The materialization
    `trueup_corrections` makes them: the variable `plan`, and the views `desired_in_doubt` and
    `persisted_in_doubt`. The views hold the desired and the persisted rows of the buckets to compare.
-#}
{% macro corrections(collection) -%}
    {{- config(materialized='trueup_corrections') -}}
    {%- do trueup._require_role('corrections', collection) -%}
    {%- set identity = trueup._unique_key('corrections') + ['_error_key'] -%}
    {%- set columns = trueup._column_list(identity) -%}
    {%- set options = trueup._options(collection if execute else none) -%}
    {%- set plan = trueup._session_name(collection, 'plan') -%}
-- depends_on: {{ trueup._ref(collection, trueup._source_role(collection)) }}
with

desired as (

    select * from {{ trueup._session_name(collection, 'desired_in_doubt') }}

),

persisted as (

    select * from {{ trueup._session_name(collection, 'persisted_in_doubt') }}

),

wrong as (

    select
        {% for name in identity -%}
        {%- set name = trueup._quoted(name) -%}
        coalesce(desired.{{ name }}, persisted.{{ name }}) as {{ name }},
        {% endfor -%}
        persisted._value as _persisted,
        desired._value as _desired
    from desired
    full outer join persisted
        on {{ trueup._same_key_expr(identity, 'desired', 'persisted') }}
    where
        not (desired._value <=> persisted._value)
        {%- if options.log == 'partial' %}
        and desired._ts >= coalesce(persisted._ts, desired._ts)
        {%- endif %}

)

select
    {{ columns }},
    _persisted,
    _desired,
    case
        when {{ plan }}.settled_definition = '{{ trueup._adopted_definition() }}' then 'drift'
        when _persisted._error is not null and _desired is not null and _desired._error is null
            then 'error_fixed'
        when {{ plan }}.late_dropped > 0 then 'late_command'
        when {{ plan }}.definition <> {{ plan }}.settled_definition then 'code_change'
        {%- if not trueup._is_by_select(collection) %}
        else 'unknown'
        {%- endif %}
    end as _cause,
    {{ plan }}.seq as _seq,
    {{ plan }}.tick as _ts,
    {{ plan }}.last_batch_id as _after_batch_id
from wrong
{%- endmacro %}
