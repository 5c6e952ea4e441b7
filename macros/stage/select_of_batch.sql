{#-
    A batch is staged by one of three selects: for a first snapshot, for a small batch, or the large one, which can do
    everything.
-#}

{#- The select that fits the batch of a plan. `select` is that of the model; with none it is made again. -#}
{% macro _select_of_batch(collection, plan, select) -%}
    {%- if trueup._is_first_snapshot(collection, plan) -%}
        {{ return(trueup._batch_select(collection, is_snapshot=true, takes_last=plan.takes_last_commands)) }}
    {%- elif trueup._is_small_batch(collection, plan) -%}
        {{ return(trueup._small_batch_select(collection)) }}
    {%- endif -%}
    {{ return(select or trueup._batch_select(collection)) }}
{%- endmacro %}


{#-
    Whether a batch is staged by `_small_batch_select`: up to 10,000 changes, which one task folds faster than Spark
    plans shuffles. A window keeps thousands of rows in memory. So the changes may have 50 MB together, if each one is
    as long as the mean row. Before the first batch that length is not known.

    A truncate touches all keys. Open ticks and order rows need joins that the small select does not have.
-#}
{% macro _is_small_batch(collection, plan) -%}
    {%- set changes = trueup._folded_count(plan) -%}
    {{ return(
        changes <= 10000
        and plan.records_indexed > 0
        and changes * plan.bytes_indexed <= 50000000 * plan.records_indexed
        and not plan.has_truncates
        and not collection.options.eager
        and collection.options.late != 'newest'
    ) }}
{%- endmacro %}
