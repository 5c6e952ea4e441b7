{#-
    The place of a message in its log: topic, partition and offset (`reclock`). A batch row has for each partition the next
    offset to read. A place tells what was read. It decides about a command only if an option says so.
-#}

{#- The type of `_place`. -#}
{% macro _place_type() -%}
    {{ return('struct<topic:string,partition:string,offset:bigint>') }}
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


{#- A condition: whether a message was read before this batch. `known` names the row of its partition in `_known_places`. -#}
{% macro _was_read_expr(place, known='known') -%}
    {{ return('coalesce(' ~ place ~ '.offset < ' ~ known ~ '.next, false)') }}
{%- endmacro %}


{#- What is read of a log after a batch, for its row: `before` and `found` are what earlier batches and this one have read. -#}
{% macro _places_after(before, found) -%}
    {%- set ends = {} -%}
    {%- for each in (before or []) + found -%}
        {%- set partition = (each.get('topic'), each.get('partition')) -%}
        {%- do ends.update({partition: [each.next, ends.get(partition, each.next)] | max}) -%}
    {%- endfor -%}
    {%- set places = [] -%}
    {%- for partition, next in ends.items() -%}
        {%- do places.append({'topic': partition[0], 'partition': partition[1], 'next': next}) -%}
    {%- endfor -%}
    {{ return(places) }}
{%- endmacro %}


{#-
    The rows of a part that were there when the look asked for its `places`. The others are fresh for the next run; without this, the
    commit would apply them, too.
-#}
{% macro _rows_before_places_select(rows, places) -%}
select part.*
from {{ trueup._subquery(rows) }} as part
left join (select struct(*) as _known from {{ trueup._known_places(places) }})
    on {{ trueup._same_partition_expr('_known', 'part._place') }}
where part._place.offset is null or {{ trueup._was_read_expr('part._place', '_known') }}
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
        not {{ trueup._was_read_expr('read._place') }} as _is_fresh
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
            {%- for field in trueup._parsed_type(collection.order_type).fields[1:] if field.name[1:].isdigit() %}
            '{{ field.name }}', _prior.{{ field.name }},
            {%- endfor %}
            '_arrival', coalesce(_prior._arrival, 0L) + _step
            {%- if collection.options.ties == 'place' %},
            '_contents', cast(null as {{ trueup._contents_type() }})
            {%- endif %}
        ),
        _order
    ) as _order
from arriving
where _is_fresh or not _is_unordered
{%- endmacro %}


{#- The order of the store with `_contents`, or without them, as a list of select items: see `_contents_type`. -#}
{% macro _order_with_contents_expr(collection, order, contents) -%}
    {%- set fields = [] -%}
    {%- for field in trueup._parsed_type(collection.order_type).fields if field.name != '_contents' -%}
        {%- do fields.append("'" ~ field.name ~ "', " ~ order ~ '.' ~ field.name) -%}
    {%- endfor -%}
    {{ return('named_struct(' ~ (fields | join(', ')) ~ ", '_contents', " ~ contents ~ ')') }}
{%- endmacro %}


{#- A condition: whether two orders are equal. What was said of them does not count. -#}
{% macro _is_same_order_expr(collection, left, right) -%}
    {%- if collection.options.ties != 'place' -%}
        {{ return(left ~ ' <=> ' ~ right) }}
    {%- endif -%}
    {%- set terms = [] -%}
    {%- for field in trueup._parsed_type(collection.order_type).fields if field.name != '_contents' -%}
        {%- do terms.append(left ~ '.' ~ field.name ~ ' <=> ' ~ right ~ '.' ~ field.name) -%}
    {%- endfor -%}
    {{ return('(' ~ (terms | join(' and ')) ~ ')') }}
{%- endmacro %}


{#-
    The CTE `newest` with `ties: place`: of each key the greatest order, and `_said`, each content of this order with its
    smallest place. A delete is a content without a digest.

    Reads: `commands`. Ends with: `newest`.
-#}
{% macro _newest_content_ctes(collection, plan) -%}
    {%- set names = trueup._column_list(collection.key + ['_error_key']) -%}
    {%- set ordered = ' filter (where not ' ~ trueup._lacks_order_expr() ~ ')' if plan.has_unordered else '' -%}
contents as (

    select
        {{ names }},
        _order,
        _digest,
        count(*) as _commands,
        min(if(_place.offset is null, null, _place)) as _place,
        any_value(_length) as _length,
        any_value(_value) as _value
    from commands
    group by {{ names }}, _order, _digest

),

steps as (

    select
        {{ names }},
        _order,
        sum(_commands) as _commands,
        collect_list(struct(_digest, _place, _length, _value)) as _said
    from contents
    group by {{ names }}, _order

),

newest as (

    select
        {{ names }},
        sum(_commands) as _commands,
        {%- if plan.has_unordered %}
        sum(_commands) filter (where {{ trueup._lacks_order_expr() }}) as _unordered,
        {%- endif %}
        max(struct(_order, array_max(_said._digest) as _digest)){{ ordered }} as _new,
        max_by(_said, _order){{ ordered }} as _said
    from steps
    group by {{ names }}

)
{%- endmacro %}


{#-
    The CTE `ruled` with `ties: place`: of all contents of the newest order, those of this batch and those that the store
    remembers, the latest one of a partition wins. If they are of several partitions, it is a tie.

    Reads: `joined`. Ends with: `ruled`.
-#}
{% macro _settled_ctes(collection, plan) -%}
    {%- set is_same = trueup._is_same_order_expr(collection, '_new._order', '_old._order') -%}
remembering as ( -- `_remembered`: what the store has read of this order, with the code of today

    select
        *,
        case
            when _old is null or _new is null or not {{ is_same }} or _old._seq < _since
                then cast(array() as {{ trueup._contents_type() }})
            else coalesce(
                _old._order._contents,
                cast(array(struct(_old._digest, null, null, null)) as {{ trueup._contents_type() }})
            )
        end as _remembered
    from joined

),

gathered as ( -- `_contents`: all contents of this order, each at its smallest place

    select
        *,
        array_sort(concat(
            transform(_remembered, one -> struct(
                one.digest as digest, one.topic as topic, one.partition as partition,
                if(one.offset is null, null, array_min(concat(array(one.offset), transform(
                    filter(_said, each -> each._digest <=> one.digest and {{ trueup._same_partition_expr('each._place', 'one') }}),
                    each -> each._place.offset
                )))) as offset
            )),
            transform(
                filter(_said, each -> not exists(_remembered, one -> one.digest <=> each._digest)),
                each -> struct(
                    each._digest as digest, each._place.topic as topic, each._place.partition as partition,
                    each._place.offset as offset
                )
            )
        )) as _contents
    from remembering

),

lined_up as ( -- `_latest`: those with the greatest place, if all are of one partition

    select
        *,
        case
            when size(_contents) = 1 then _contents
            when forall(_contents, one ->
                one.offset is not null and {{ trueup._same_partition_expr('one', 'element_at(_contents, 1)') }}
            ) then filter(_contents, one -> one.offset = array_max(_contents.offset))
        end as _latest
    from gathered

),

chosen as (

    select
        *,
        if(size(_latest) = 1, get(filter(_said, each -> each._digest <=> element_at(_latest, 1).digest), 0), null) as _winner,
        -- Nobody has the values of a content that the store remembers and does not hold.
        size(_latest) = 1 and size(_remembered) > 0 and _old._digest <=> element_at(_latest, 1).digest as _is_held
    from lined_up

),

ruled as (

    select
        * except (_said, _remembered, _contents, _latest, _winner),
        _winner._value as _value,
        if(_new is null, null, struct(
            {{ trueup._order_with_contents_expr(collection, '_new._order', '_contents') }} as _order,
            if(_winner is null, _old._digest, _winner._digest) as _digest,
            if(_winner is null, _old._length, _winner._length) as _length
        )) as _settled,
        case
            when _new is null then 'none'
            {%- if plan.has_truncates %}
            when _new._order < _truncated then 'dead'
            {%- endif %}
            when _old is not null and not {{ is_same }} and _new._order < _old._order then 'superseded'
            when size(_remembered) > 0 and _contents <=> _remembered and not (_old._error_kind <=> 'tie' and _winner is not null)
                then 'superseded'
            when _winner is null and not coalesce(_is_held, false) then 'tie'
            else 'taken'
        end as _verdict
    from chosen

)
{%- endmacro %}
