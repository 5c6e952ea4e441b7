{#-
    Feedback: one MERGE of the net updates into the state. The progress row moves from the batch
    that the tail was read after to the tail's last; if it has moved already, or is not there,
    nothing is applied.

    No clause keeps a value of the row that it matches, so that no values of the state are read. Where
    the updates are few, `is_small`, they are looked up in memory, and the state is not sorted. Only
    what is in the range of their keys is read, `key_range`, if there is one; it has the progress row.
-#}
{% macro apply_updates_sql(state, net_updates, unique_key, is_small=false, key_range=none) -%}
    {%- set moved -%}
raise_error(concat(
        'state moved: the tail was read after batch ', net._applied,
        ', which is no longer what the state holds; nothing is applied, run again'
    ))
    {%- endset -%}
merge into {{ state }} as state
using (
    select {%- if is_small %} /*+ shuffle_hash(net_updates) */{% endif %} *
    from {{ trueup._subquery(net_updates) }} as net_updates
    {%- if key_range %}
    where {{ trueup.require_in_key_range_expr(key_range, [trueup._quote(unique_key[0])]) }}
    {%- endif %}
) as net
    on {{ trueup._same_key(unique_key + ['_error_key'], 'state', 'net') }}
    and (state._kind = 'progress') = (net._kind = 'progress')
    {%- if key_range %}
    and {{ trueup._in_key_range_expr(key_range, 'state.' ~ trueup._quote(unique_key[0])) }}
    {%- endif %}
when matched and case
        when net._kind <> 'progress' then false
        when state._seq = net._applied then true
        else {{ moved }}
    end then update set *
when matched and net._diff = 1 then update set *
when matched then delete
when not matched and net._kind = 'progress' then insert (_kind) values ({{ moved }})
when not matched and net._diff = 1 then insert *
{%- endmacro %}


{#- The variable `applied` of the Spark session: the last batch that the state holds. -#}
{% macro declare_applied_sql(collection, seq) -%}
declare or replace variable {{ trueup._session_name(collection, 'applied') }} bigint
default {{ seq }}
{%- endmacro %}
