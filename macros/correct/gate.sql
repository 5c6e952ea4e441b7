{#-
    The gate: desired and persisted are joined only in the buckets of keys in which what is desired
    does not add up to the certificate of the last batch. Where nothing is wrong that is one scan of
    what is desired, without a shuffle of its rows.
-#}

{#-
    The buckets to compare, as a list; none for all of them: where the log does not hold all keys,
    or the certificate has updates of open ticks, it says nothing of what is desired.
-#}
{% macro get_buckets_in_doubt(collection, shard, columns, options) -%}
    {%- if options.log == 'partial' or shard.frontier.has_provisional -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set query = trueup.buckets_in_doubt_sql(
        trueup._session_name(collection, 'desired'), shard.changelog, shard.unique_key, columns,
        shard.frontier.last_seq
    ) -%}
    {{ return(fromjson(run_query(query).rows[0][0])) }}
{%- endmacro %}


{#- The select behind `get_buckets_in_doubt`: one row, the buckets in JSON. -#}
{% macro buckets_in_doubt_sql(desired, changelog, unique_key, columns, seq) -%}
with

digested as (

    select
        1 as _diff,
        {{ trueup.digest_expr(unique_key, columns, in_value=true) }} as _digest
    from {{ desired }}
    where _value is not null

),

{{ trueup.find_wrong_buckets('digested', changelog, seq) }}

select buckets from wrong_buckets
{%- endmacro %}


{#- The views `desired_in_doubt` and `persisted_in_doubt` of the Spark session. -#}
{% macro create_views_in_doubt(collection, unique_key, columns, buckets) -%}
    {%- for side in ['desired', 'persisted'] -%}
        {%- do trueup.create_session_view(
            trueup._session_name(collection, side ~ '_in_doubt'),
            trueup.select_buckets(
                trueup._session_name(collection, side), unique_key, columns, buckets
            )
        ) -%}
    {%- endfor -%}
{%- endmacro %}


{#- What a relation has in some buckets; in all of them with none. -#}
{% macro select_buckets(relation, unique_key, columns, buckets) -%}
select *
from {{ relation }}
    {%- if buckets == [] %}
where false
    {%- elif buckets is not none %}
where {{ trueup._in_buckets_expr(unique_key, columns, buckets) }}
    {%- endif %}
{%- endmacro %}
