{#- The sizes from which a run does extra work in order to read less. -#}

{#-
    Whether it pays to read the keys of the given number of changes, for a state with the given number of
    rows.
-#}
{% macro _is_lookup_worthwhile(changes, rows) -%}
    {{ return(rows >= 1000000 and rows >= 10 * changes) }}
{%- endmacro %}


{#-
    Whether the given number of changes fits into memory, even if they are long. Then each core gets all of
    their keys, and Spark does not move the rows of the state. Otherwise Spark shuffles both.
-#}
{% macro _can_broadcast_keys(changes) -%}
    {{ return(changes <= 200000) }}
{%- endmacro %}


{#-
    Whether the keys of the given number of updates leave a filter empty enough to pay: at most a third
    full, for the largest filter of 655,360 bits. A Delta table keeps the condition of a MERGE with each
    commit.
-#}
{% macro _is_key_filter_worthwhile(updates) -%}
    {{ return(updates <= 200000 and trueup._file_format() == 'iceberg') }}
{%- endmacro %}
