{#-
    Expressions for stage and apply: which rows of the state may have a key of the batch, and that no other
    key has arrived since.
-#}

{#- A list of conditions that are true for a key of `alias` if the updates touch the key. -#}
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
    An expression of a row with one of the keys that a run has looked at. It raises if one of `conditions`
    is false, because commands or batches may have arrived since. It is not a condition of the row: Spark
    would move a condition below joins, and then check rows that the joins leave out.
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


{#-
    The hash of a key, as an SQL expression. Equal keys of the same types have the same hash; other keys
    may, too.
-#}
{% macro _key_hash_expr(names, alias) -%}
    {{ return('xxhash64(' ~ trueup._column_list(names, alias) ~ ')') }}
{%- endmacro %}
