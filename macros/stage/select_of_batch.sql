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
