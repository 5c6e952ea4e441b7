{#-
    Feedback: one MERGE of the net updates into the state. The progress row moves from the batch
    that the tail was read after to the tail's last; if it has moved already, or is not there,
    nothing is applied.

    No clause keeps a value of the row that it matches, so that no values of the state are read; and
    with `key_range`, the range of the keys of the updates, only what is in it. The progress row is.
-#}
{% macro apply_updates_sql(state, net_updates, unique_key, key_range=none) -%}
    {%- set moved -%}
raise_error(concat(
        'state moved: the tail was read after batch ', net._applied,
        ', which is no longer what the state holds; nothing is applied, run again'
    ))
    {%- endset -%}
merge into {{ state }} as state
using (
    {%- if key_range %}
    select * from {{ trueup._subquery(net_updates) }}
    where {{ trueup._require_in_key_range_expr(key_range, [trueup._quote(unique_key[0])]) }}
    {%- else %}
    {{ net_updates | indent }}
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
