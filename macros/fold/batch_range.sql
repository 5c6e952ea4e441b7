{#-
    The range of the keys of a batch before it is staged, where a look at them can be had and pays; else
    none. `input` and `waiting` are its commands and its corrections, as selects, or none; `columns` those
    of the changelog.
-#}
{% macro _get_batch_range(collection, plan, columns, input, waiting) -%}
    {%- set changes = plan.commands_ahead + plan.correction_count -%}
    {%- if not (
        trueup._are_keys_known(collection, plan)
        and trueup._is_lookup_worthwhile(changes, plan.records_indexed)
    ) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set keys = trueup._first_key_selects(
        [input, waiting], collection.unique_key, collection.extras
    ) -%}
    {{ return(trueup._get_key_range(keys, collection.unique_key, columns)) }}
{%- endmacro %}


{#-
    Whether the keys of a batch are known before it is staged. Truncates touch every key; commands still
    come to open ticks, and the corrections of a select may be replaced by those of another run.
-#}
{% macro _are_keys_known(collection, plan) -%}
    {{ return(not (
        plan.has_truncates or collection.options.eager or collection.is_by_select
    )) }}
{%- endmacro %}


{#-
    Selects of the first key column of what a batch is made of: commands, corrections, either of which
    may be none. Of a key that changes, the old one's value is read, too.
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
