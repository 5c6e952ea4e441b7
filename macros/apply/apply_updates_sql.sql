{#-
    The statement that applies the net updates of a `tail` to the state: it fills a state that has applied no batch, and
    merges into any other. `key_range` and `key_filter` limit what the MERGE reads.
-#}
{% macro _apply_tail_sql(collection, tail, net_updates, key_range=none, key_filter=none) -%}
    {{ return(
        trueup._fill_state_sql(collection, tail, net_updates) if tail.applied_seq == 0
        else trueup._apply_updates_sql(collection, tail, net_updates, key_range, key_filter)
    ) }}
{%- endmacro %}


{#-
    Feedback: one MERGE of the net updates into the state. It moves the progress row from the batch that the
    tail was read after to the last batch of the tail. If the progress row has already moved, or is missing, or if
    the changelog ends with another batch than the tail, nothing is applied.

    No clause keeps a value of a matched row, so the MERGE reads no values of the state. With `key_range`
    and `key_filter` it reads only the keys that these let through. The progress row always passes. Delta
    evaluates the conditions of a matched clause for rows without a match, too: there the other side is null.
-#}
{% macro _apply_updates_sql(collection, tail, net_updates, key_range=none, key_filter=none) -%}
    {%- set identity = collection.identity -%}
    {%- set of_net = trueup._touched_conditions(key_range, key_filter, identity, 'net') -%}
    {%- set of_state = trueup._touched_conditions(key_range, key_filter, identity, 'state') -%}
    {%- set moved = trueup._raise_moved_tail_expr(tail) -%}
{{ trueup._step_marker('apply') }}
merge into {{ collection.state }} as state
using (
    {%- if of_net %}
    select
        * except (_diff),
        {{ trueup._assert_in_range_expr('_diff', of_net) }} as _diff
    from {{ trueup._subquery(net_updates) }} as net
    {%- else %}
    select *
    from {{ trueup._subquery(net_updates) }} as net
    {%- endif %}
    where {{ trueup._state_fits_expr(collection) }}
) as net
    on {{ trueup._same_key_expr(identity, 'state', 'net') }}
    and (state._kind = 'progress') = (net._kind = 'progress')
    {%- for condition in of_state %}
    and {{ condition }}
    {%- endfor %}
when matched and case
        when not (net._kind <=> 'progress') then false
        {#- The number of batches, not that of the last one: Spark compiles a statement with a new number again. #}
        when state._seq = net._applied and net._seq = net._applied + {{ tail.last_seq - tail.applied_seq }} then true
        else {{ moved }}
    end then update set *
when matched and net._diff = 1 then update set *
when matched then delete
when not matched and net._kind = 'progress' then insert (_kind) values ({{ moved }})
when not matched and net._diff = 1 then insert *
{%- endmacro %}


{#-
    Feedback into a state that has applied no batch: it has no rows, so its new ones replace it, without a
    join. If another run has applied a batch before this statement begins, nothing is written. If it does so
    later, the state goes back to the batches of this statement, with its progress row. The next run then
    applies the others again.
-#}
{% macro _fill_state_sql(collection, tail, net_updates) -%}
    {%- set applied_seq = trueup._last_seq_expr(collection.state) -%}
{{ trueup._step_marker('apply') }}
insert overwrite {{ collection.state }} by name
select * except (_diff, _applied)
from {{ trueup._subquery(net_updates) }}
where
    _diff = 1
    and {{ trueup._state_fits_expr(collection) }}
    -- Not inside the subquery: Spark reports an error in a subquery with pages of Java. Here the first row
    -- raises it.
    and case
        when {{ applied_seq }} = 0 then true
        else raise_error(concat(
            'state moved: it had applied no batch, and has ',
            coalesce(concat('batch ', {{ applied_seq }}), 'no progress row'),
            ' now; nothing is applied, run again'
        ))
    end
    and case
        when _kind <=> 'progress' and _seq <> {{ tail.last_seq }} then {{ trueup._raise_moved_tail_expr(tail) }}
        else true
    end
-- Sorted like the result of a large MERGE, so that a run can skip parts of a file.
sort by {{ trueup._quoted(collection.unique_key[0]) }}
{%- endmacro %}


{#- Raises, because one of the two tables no longer stands where the tail was read. -#}
{% macro _raise_moved_tail_expr(tail) -%}
raise_error(
        'state moved: the tail was read after batch {{ tail.applied_seq }} up to batch {{ tail.last_seq }}, and since'
        ' then a table has moved; nothing is applied, run again'
    )
{%- endmacro %}
