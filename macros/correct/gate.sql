{#-
    The gate: it chooses the buckets of keys in which desired and persisted rows are joined. A bucket is
    joined only if the sums of its desired rows differ from the certificate of the last batch. If no bucket
    differs, the gate costs one scan of the desired rows, without a shuffle. If most buckets differ, this
    cost is added to that of the join. So the gate is skipped if that is likely.
-#}

{#-
    The buckets to compare. A dict: `buckets`, a list, or none for all of them; `surplus`, how many more
    rows are desired than persisted, none if that is not known.

    No bucket is compared if a schedule changes nothing now: the plan has a `reason` then. All buckets are compared at
    once in two cases:

    - The certificate does not describe the desired rows: only those of the late keys are folded, the log
      does not hold all keys, or open ticks were written.
    - Most buckets are likely to have wrong rows: in the first run, after a change of the code, and if the
      last comparison found many wrong rows. `found_before` is the number of rows that it found.
-#}
{% macro _get_mismatched_buckets(collection, plan, columns, extent, found_before) -%}
    {%- set has_only_some_keys = collection.options.log == 'partial' or extent == 'late' -%}
    {%- if 'reason' in plan -%}
        {{ return({'buckets': [], 'surplus': 0}) }}
    {%- elif has_only_some_keys or plan.has_provisional or plan.last_seq == 0 -%}
        {{ return({'buckets': none, 'surplus': none}) }}
    {%- elif plan.definition != plan.settled_definition
            or found_before >= trueup._bucket_count() -%}
        {#- A fold of commands gives one value for each key. -#}
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
    How many wrong rows the last comparison found, with the edits that it healed; 0 if there was none.
    Iceberg knows the number without reading the table.
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
    The buckets to compare, as the views use them. For commands it is the list that the gate has found.

    The inputs of a select may change after the gate has read them. Then the batch would mix parts of two
    results, and the select has never returned such a mix. So for a select the statement that compares the
    buckets finds them again, in a scalar subquery: a statement reads each table at one moment.
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


{#- Makes the views `desired_in_doubt` and `persisted_in_doubt` of the Spark session: the rows to compare. -#}
{% macro _ensure_mismatched_views(collection, columns, extent, buckets) -%}
    {%- for side in ['desired', 'persisted'] -%}
        {%- set rows = trueup._session_name(collection.name, side) -%}
        {%- do trueup._ensure_session_view(
            trueup._session_name(collection.name, side ~ '_in_doubt'),
            trueup._rows_of_late_keys_select(collection, rows) if extent == 'late'
                else trueup._buckets_select(rows, collection.unique_key, columns, buckets)
        ) -%}
    {%- endfor -%}
{%- endmacro %}


{#- The rows of a relation in some buckets: a list, or a subquery of one list. With none: in all buckets. -#}
{% macro _buckets_select(relation, unique_key, columns, buckets) -%}
select *
from {{ relation }} as compared
    {%- if buckets == [] %}
where false
    {%- elif buckets is string %}
where array_contains({{ buckets }}, {{ trueup._bucket_expr(unique_key, columns, alias='compared') }})
    {%- elif buckets is not none %}
where {{ trueup._in_buckets_expr(unique_key, columns, buckets, alias='compared') }}
    {%- endif %}
{%- endmacro %}
