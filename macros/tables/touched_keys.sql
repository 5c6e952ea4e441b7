{#-
    What stage and apply say of the keys of a batch: which rows of the state may have one, and that no
    other key came since.
-#}

{#- What is true of a key of `alias` if the updates touch it: a list of conditions. -#}
{% macro _touched_conditions(key_range, key_filter, identity, alias) -%}
    {%- set conditions = [] -%}
    {%- if key_range -%}
        {%- do conditions.append(
            trueup._in_key_range_expr(key_range, alias ~ '.' ~ trueup._quoted(identity[0]))
        ) -%}
    {%- endif -%}
    {%- if key_filter -%}
        {%- do conditions.append(trueup._in_key_filter_expr(key_filter, identity, alias)) -%}
    {%- endif -%}
    {{ return(conditions) }}
{%- endmacro %}


{#-
    An expression of a row whose key is among those that a run has looked at; it raises where one of
    `conditions` is false, for commands or batches may have come since. Not a condition of the row:
    Spark would move that below joins, to rows that these leave out.
-#}
{% macro _assert_in_range_expr(expression, conditions) -%}
case
            when {{ conditions | join(' and ') }} then {{ expression }}
            else raise_error(
                'keys moved: new keys arrived in the log or the changelog while this run was planning;'
                ' nothing is written, run again'
            )
        end
{%- endmacro %}


{#- The hash of a key, as an SQL expression: equal keys of the same types have the same, others may. -#}
{% macro _key_hash_expr(names, alias) -%}
    {{ return('xxhash64(' ~ trueup._column_list(names, alias) ~ ')') }}
{%- endmacro %}
