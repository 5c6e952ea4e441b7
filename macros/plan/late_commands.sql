{#- What a run with `late: newest` plans: whether it must look for late commands, and how many keys are deleted. -#}

{#-
    Whether a batch is the first one that keeps order rows: with `late: newest`, if the last batch had another
    option.
-#}
{% macro _must_begin_orders(options, progress) -%}
    {{ return(options.late == 'newest' and progress.last_seq > 0 and progress.tombstones is none) }}
{%- endmacro %}


{#-
    Whether a batch must look for late commands: with `late: newest`, unless it is known that there are none. It
    is known if a position in the log is trusted, no command is late, and the last batch has looked, too. If the
    whole log is read and may have lost rows, a count of 0 proves nothing: the log may have lost as many rows as
    came late. A batch that forgets deleted keys also looks: a superseded command that is read again keeps its key
    from being forgotten.
-#}
{% macro _must_take_late(collection, progress, part, measured) -%}
    {{ return(
        collection.options.late == 'newest' and '_offset' not in collection.extras
        and progress.last_seq > 0
        and (
            measured.late_dropped != 0 or part.read is none or trueup._must_begin_orders(collection.options, progress)
            or part.settled is none and collection.options.log == 'partial'
            or trueup._tombstones_end(collection.options, measured) is not none
        )
    ) }}
{%- endmacro %}


{#-
    With `late: newest`, the number of keys with an order row but without a row or error: those whose last
    command is a delete. Else none. If the last batch was made with another option, the state is counted.
-#}
{% macro _get_tombstones(collection, progress) -%}
    {%- if collection.options.late != 'newest' -%}
        {{ return(none) }}
    {%- elif progress.tombstones is not none or progress.last_seq == 0 -%}
        {{ return(progress.tombstones or 0) }}
    {%- endif -%}
    {%- set query -%}
select count(*)
from {{ collection.state }} as orders
left anti join {{ collection.state }} as held
    on {{ trueup._same_key_expr(collection.unique_key, 'orders', 'held') }}
    and held._kind in ('row', 'error')
    and held._error_key <=> {{ trueup._owner_error_key_expr('orders') }}
where orders._kind = 'order'
    {%- endset -%}
    {{ return(run_query(query).rows[0][0]) }}
{%- endmacro %}
