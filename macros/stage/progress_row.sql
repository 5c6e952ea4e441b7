{#-
    The CTE `progress`: the one progress row of the batch, with its statistics. It checks that the
    priors came from exactly the state that the batch was planned on.

    Reads: `steps`, `steps_taken`, `updates`, the changelog, the state. Ends with: `progress`.
-#}
{% macro _progress_ctes(collection) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set identity, options = collection.identity, collection.options -%}
    {%- set plan = trueup._session_name(collection.name, 'plan') -%}
    {%- set is_newest = options.late == 'newest' -%}
transitions as (

    select {{ trueup._transition_list(identity) }}
    from steps_taken
    {%- if options.eager %}
    -- Commands of open ticks are counted when they are settled.
    where _step = {{ step.correction }} or _ts < {{ plan }}.upper
    {%- endif %}

),

counts as (

    select {{ trueup._step_counts_expr(identity, options) }} as _step_counts
    from transitions

),

{% if is_newest -%}
order_counts as (

    select
        count_if(_step = {{ step.superseded }}) as superseded,
        count_if({{ trueup._is_order_step_expr() }}) as orders_staged,
        count_if(_step = {{ step.new_order }}) - count_if(_step = {{ step.old_order }}) as orders_added
    from steps

),

{% endif -%}
{% if options.eager -%}
staged_updates as (

    select count(*) as updates_staged, coalesce(sum(_diff), 0) as records_staged from updates

),

-- Rule: a batch that settles no tick settles no offset, even if it writes open ticks.
last_partitions as (

    select any_value(transform(_statistics.partitions, _each -> named_struct(
        '_partition', _each._partition,
        'first_offset', cast(null as bigint),
        'next_offset', _each.next_offset
    ))) as partitions
    from {{ collection.changelog }}
    where _kind = 'progress' and _seq = {{ plan }}.seq - 1

),

{% endif -%}
applied as (

    select max(_seq) as _applied_seq
    from {{ trueup._subquery(trueup._applied_select(collection)) }} as batches

),

progress as (

    select
        {% for name in identity[:-1] -%}
        null as {{ trueup._quoted(name) }},
        {% endfor -%}
        null as _value,
        cast(null as string) as _error_key,
        cast(null as bigint) as _ts,
        cast(null as int) as _diff,
        cast(null as string) as _cause,
        {{ trueup._progress_kind_expr(options, plan) | indent(8) }} as _kind,
        {{ trueup._staged_statistics_expr(options, plan) | indent(8) }} as _statistics
    from counts
    cross join applied
    {%- if is_newest %}
    cross join order_counts
    {%- endif %}
    {%- if options.eager %}
    cross join staged_updates
    cross join last_partitions
    {%- endif %}

)
{%- endmacro %}


{#- A select of the batches that the state has applied, `_seq`, from the one that the batch is planned on. -#}
{% macro _applied_select(collection) -%}
select _seq
from {{ collection.state }}
where _kind = 'progress' and _seq >= {{ trueup._session_name(collection.name, 'plan') }}.seq - 1
{%- endmacro %}
