{#-
    The place of a message in its log: topic, partition and offset (`reclock`). A batch row has for each partition the next
    offset to read. A place tells what was read. It decides about a command only if an option says so.
-#}

{#- The type of `_place`. -#}
{% macro _place_type() -%}
    {{ return('struct<topic: string, partition: string, offset: bigint>') }}
{%- endmacro %}


{#- What the batches before have read, as a relation: for each partition the `next` offset. `places` is as in a batch row. -#}
{% macro _known_places(places) -%}
    {{ return(
        '(select inline(from_json(' ~ trueup._literal_or_null(tojson(places) if places else none)
        ~ ", 'array<struct<topic: string, partition: string, next: bigint>>')))"
    ) }}
{%- endmacro %}


{#- A condition: whether two places are of one partition of one topic. -#}
{% macro _same_partition_expr(left, right) -%}
    {{ return(
        left ~ '.topic <=> ' ~ right ~ '.topic and ' ~ left ~ '.partition <=> ' ~ right ~ '.partition'
    ) }}
{%- endmacro %}


{#-
    The CTE `places`: one row with what is read after this batch, for the batch row.

    Reads: `read`. Ends with: `places`.
-#}
{% macro _place_ctes(plan) -%}
places as (

    select array_sort(collect_list(struct(topic, partition, next))) as _places, sum(next) as _offset
    from (
        select topic, partition, max(next) as next
        from (
            select _place.topic, _place.partition, _place.offset + 1 as next from read where _place.offset is not null
            union all
            select topic, partition, next from {{ trueup._known_places(plan.places) }}
        )
        group by topic, partition
    )

)
{%- endmacro %}


{#-
    The CTEs up to `arriving`, for the option `null_order: arrival`: what is known of a key when a command without an order
    arrives. A command is fresh if its place is above all that was read of its partition.

    Reads: `read`. Ends with: `arriving`.
-#}
{% macro _arrival_ctes(collection, plan) -%}
    {%- set names = collection.key + ['_error_key'] -%}
    {%- set identity = trueup._column_list(names, alias='fresh') -%}
    {%- set partition = identity ~ ', fresh._place.topic, fresh._place.partition' -%}
    {%- set of_fresh = 'if(_is_fresh, struct(fresh._place.topic, fresh._place.partition), null)' -%}
fresh as (

    select
        read.* except (_order),
        cast(read._order as {{ trueup._sql_type(collection.order_type) }}) as _order,
        {{ trueup._lacks_order_expr('read.') }} and read._op <> 'truncate' as _is_unordered,
        coalesce(read._place.offset >= known.next, true) as _is_fresh
    from read
    left join {{ trueup._known_places(plan.places) }} as known on {{ trueup._same_partition_expr('known', 'read._place') }}

),
{%- if plan.new_truncates %}

truncating as (

    select coalesce(collect_set(struct(_place, _order)), array()) as _steps from fresh where _op = 'truncate' and _is_fresh

),
{%- endif %}

arriving as ( -- `_prior`: the greatest order that is known of the key

    select
        fresh.*,
        greatest(
            store._order,
            {{ trueup._order_from_json_expr(collection, plan.truncated) }},
            {%- if plan.new_truncates %}
            array_max(transform(
                filter(_steps, step -> {{ trueup._same_partition_expr('step._place', 'fresh._place') }}
                    and step._place.offset <= fresh._place.offset),
                step -> step._order
            )),
            {%- endif %}
            max(if(_is_unordered or _op = 'truncate', null, fresh._order))
                over (partition by {{ partition }} order by fresh._place.offset)
        ) as _prior,
        -- Messages of one key in two partitions have no sequence.
        min({{ of_fresh }}) over (partition by {{ identity }}) = max({{ of_fresh }}) over (partition by {{ identity }})
            {%- if plan.new_truncates %}
            and forall(_steps, step -> {{ trueup._same_partition_expr('step._place', 'fresh._place') }})
            {%- endif %} as _is_in_sequence,
        dense_rank() over (
            partition by {{ partition }}, _is_unordered and _is_fresh order by fresh._place.offset
        ) as _step
    from fresh
    left join {{ trueup._stored_relation(collection) }} as store
        on {{ trueup._same_key_expr(names, 'store', 'fresh') }}
        and store._kind in ({{ trueup._current_kinds() }})
        and not store._error_kind <=> 'order'
        {%- if plan.filter %}
        and {{ trueup._may_be_changed_expr(collection, plan.filter, 'store') }}
        {%- endif %}
    {%- if plan.new_truncates %}
    cross join truncating
    {%- endif %}

)
{%- endmacro %}


{#-
    The commands, each with an order. One that has arrived without an order is the newest of its key: it has the greatest order
    that is known of the key, with a higher `_arrival`. One that was read before has no effect and is left out.
-#}
{% macro _arrived_select(collection, plan) -%}
select
    * except (_order, _is_unordered, _is_fresh, _prior, _is_in_sequence, _step),
    if(
        _is_unordered and _is_in_sequence and _place.offset is not null,
        named_struct(
            -- Nothing is known of a new key, so every order is greater.
            '_epoch', coalesce(_prior._epoch, {{ trueup._adopted_epoch() }}),
            {%- for field in trueup._parsed_type(collection.order_type).fields[1:-1] %}
            '{{ field.name }}', _prior.{{ field.name }},
            {%- endfor %}
            '_arrival', coalesce(_prior._arrival, 0L) + _step
        ),
        _order
    ) as _order
from arriving
where _is_fresh or not _is_unordered
{%- endmacro %}
