{#-
    The gate: desired and persisted are joined only in the buckets of keys in which what is desired
    does not add up to the certificate of the last batch. Where nothing is wrong that is one scan of
    what is desired, without a shuffle of its rows. Where most buckets differ it is paid on top, so it
    is left out where that is to be expected.
-#}

{#-
    What there is to compare. A dict: `buckets`, a list, or none for all of them; `surplus`, how many
    rows are desired more than are persisted, none where that is not known.

    All buckets are compared at once where the certificate says nothing of what is desired (the log
    does not hold all keys, or open ticks were written), and where rows of most buckets are likely to
    be wrong: in the first run, after a change of the code, and after a comparison that has found as
    many. `found_before` is how many rows that was.
-#}
{% macro _get_mismatched_buckets(collection, plan, columns, found_before) -%}
    {%- set is_partial = collection.options.log == 'partial' -%}
    {%- if 'reason' in plan -%}
        {{ return({'buckets': [], 'surplus': 0}) }}
    {%- elif is_partial or plan.has_provisional or plan.last_seq == 0 -%}
        {{ return({'buckets': none, 'surplus': none}) }}
    {%- elif plan.definition != plan.settled_definition
            or found_before >= trueup._bucket_count() -%}
        {#- Of commands there is one value of each key, because they are folded. -#}
        {%- set row_count = run_query('select count(*) from ' ~ collection.commands).rows[0][0]
            if collection.is_by_select else none -%}
        {{ return({
            'buckets': none,
            'surplus': none if row_count is none else row_count - plan.records_indexed,
        }) }}
    {%- endif -%}
    {%- set found = run_query(trueup._mismatched_buckets_select(collection, plan, columns)).rows[0] -%}
    {%- set buckets = fromjson(found[0]) -%}
    {%- set are_most = buckets | length > trueup._bucket_count() / 2 -%}
    {{ return({'buckets': none if are_most else buckets, 'surplus': found[1]}) }}
{%- endmacro %}


{#-
    How many rows the comparison before has found wrong, with the edits that it healed; 0 where
    there is none. Iceberg knows the number without reading the table.
-#}
{% macro _get_found_before(corrections) -%}
    {%- if load_relation(corrections) is none -%}
        {{ return(0) }}
    {%- endif -%}
    {{ return(run_query('select count(*) from ' ~ corrections).rows[0][0]) }}
{%- endmacro %}


{#- The select behind `_get_mismatched_buckets`: one row, the buckets in JSON and the surplus. -#}
{% macro _mismatched_buckets_select(collection, plan, columns) -%}
with

{{ trueup._compared_certificate_ctes(collection, plan, columns) }}

select
    buckets,
    surplus
from wrong_buckets
{%- endmacro %}


{#-
    CTEs that compare the view `desired` with the certificate of a batch.

    Reads: the session view `desired`, the changelog. Ends with: `wrong_buckets`.
-#}
{% macro _compared_certificate_ctes(collection, plan, columns) -%}
digested as (

    select
        1 as _diff,
        {{ trueup._digest_expr(collection.unique_key, columns, in_value=true) }} as _digest
    from {{ trueup._session_name(collection.name, 'desired') }}
    where _value is not null

),

{{ trueup._wrong_buckets_ctes('digested', collection.changelog, plan.last_seq) }}
{%- endmacro %}


{#-
    The buckets in doubt as the views take them. Commands are taken as they were found. The inputs of a
    select may change after the gate has read them: then a part of one result and a part of another would
    be published, which the select has never returned. So its buckets are found again by the statement
    that compares them: this is a scalar subquery, and a statement reads each table at one moment.
-#}
{% macro _ensure_buckets_to_compare(collection, plan, columns, buckets) -%}
    {%- if not (collection.is_by_select and buckets) -%}
        {{ return(buckets) }}
    {%- endif -%}
    {%- set view = trueup._session_name(collection.name, 'wrong_buckets') -%}
    {%- set select -%}
with

{{ trueup._compared_certificate_ctes(collection, plan, columns) }}

select bucket from wrong
    {%- endset -%}
    {%- do trueup._ensure_session_view(view, select) -%}
    {{ return('(select collect_list(bucket) from ' ~ view ~ ')') }}
{%- endmacro %}


{#- The views `desired_in_doubt` and `persisted_in_doubt` of the Spark session. -#}
{% macro _ensure_mismatched_views(collection, columns, buckets) -%}
    {%- for side in ['desired', 'persisted'] -%}
        {%- do trueup._ensure_session_view(
            trueup._session_name(collection.name, side ~ '_in_doubt'),
            trueup._buckets_select(
                trueup._session_name(collection.name, side), collection.unique_key, columns, buckets
            )
        ) -%}
    {%- endfor -%}
{%- endmacro %}


{#- What a relation has in some buckets, a list or a subquery of one; in all of them with none. -#}
{% macro _buckets_select(relation, unique_key, columns, buckets) -%}
select *
from {{ relation }}
    {%- if buckets == [] %}
where false
    {%- elif buckets is string %}
where array_contains({{ buckets }}, {{ trueup._bucket_expr(unique_key, columns) }})
    {%- elif buckets is not none %}
where {{ trueup._in_buckets_expr(unique_key, columns, buckets) }}
    {%- endif %}
{%- endmacro %}
