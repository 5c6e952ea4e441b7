{#-
    The tick below which a batch forgets deleted keys (option `tombstones`); none if it forgets none. To find
    them, the batch reads all order rows of the state. So only one of several batches does this: a deleted key
    is remembered for as many ticks as the option says, and up to a tenth of them longer.
-#}
{% macro _tombstones_end(options, plan) -%}
    {%- if options.late != 'newest' or options.tombstones == 'forever' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set ticks = trueup._tombstone_ticks(options.tombstones) -%}
    {%- set interval = [1, ticks // 10] | max -%}
    {{ return(plan.upper - ticks if plan.upper // interval > plan.lower // interval else none) }}
{%- endmacro %}


{#-
    The order rows of deleted keys that were written below `tombstones_end` and have no command in the batch, as a
    select of the steps `old_order`.
-#}
{% macro _expired_tombstones_select(collection, persisted, step_extras, lower, tombstones_end) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set key, sequence = collection.unique_key, trueup._sequence_terms(collection.options) -%}
select
    {{ trueup._column_list(key, alias='tombstones') }},
    tombstones._error_key,
    {{ step.old_order }} as _step,
    {{ lower }} as _ts,
    cast(null as string) as _cause,
    {% for name in sequence[:-1] + step_extras -%}
    null as {{ name }},
    {% endfor -%}
    tombstones._value
from (
    select *, {{ trueup._owner_error_key_expr() }} as _order_owner
    from {{ persisted }}
    where {{ trueup._is_order_key_expr() }} and _ts < {{ tombstones_end }}
) as tombstones
{%- for others in [persisted, 'given'] %}
left anti join {{ others }} as others_{{ loop.index }}
    on {{ trueup._same_key_expr(key, 'tombstones', 'others_' ~ loop.index) }}
    and tombstones._order_owner <=> others_{{ loop.index }}._error_key
{%- endfor %}
{%- endmacro %}
