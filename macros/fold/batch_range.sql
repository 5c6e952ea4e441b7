{#-
    The range of the keys of a batch, read before the batch is staged. None if the keys are not
    known yet, or if reading them costs more than it saves.

    `input` has the commands of the batch and `waiting` has its corrections. Both are selects, and
    either may be none. `columns` are the columns of the changelog.
-#}
{% macro _get_batch_range(collection, plan, columns, input, waiting) -%}
    {%- if not (
        trueup._are_keys_known(collection, plan)
        and trueup._is_lookup_worthwhile(trueup._folded_count(plan), plan.records_indexed)
    ) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set keys = trueup._first_key_selects(
        [input, waiting], collection.unique_key, collection.extras
    ) -%}
    {{ return(trueup._get_key_range(keys, collection.unique_key, columns)) }}
{%- endmacro %}


{#-
    Whether the keys of a batch are known before it is staged. Truncates touch every key. Open ticks
    still get commands. Another run may replace the corrections of a select.
-#}
{% macro _are_keys_known(collection, plan) -%}
    {{ return(not (
        plan.has_truncates or collection.options.eager or collection.is_by_select
    )) }}
{%- endmacro %}


{#-
    Selects of the first key column of the sources of a batch. The sources are its commands and its
    corrections; either may be none. A change of key also reads the value of the old key, so old
    keys are included.
-#}
{% macro _first_key_selects(sources, unique_key, extras) -%}
    {%- set column = trueup._quoted(unique_key[0]) -%}
    {%- set selects = [] -%}
    {%- for source in sources if source -%}
        {%- do selects.append('select ' ~ column ~ ' from ' ~ trueup._subquery(source)) -%}
    {%- endfor -%}
    {%- if trueup._has_carried_values(extras) -%}
        {%- do selects.append(
            'select _old_key.' ~ column ~ ' from ' ~ trueup._subquery(sources | first)
        ) -%}
    {%- endif -%}
    {{ return(selects) }}
{%- endmacro %}
