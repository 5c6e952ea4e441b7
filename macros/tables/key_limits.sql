{#-
    From which sizes on a run does more, to read less.
-#}

{#- Whether a look at the keys of so many changes pays, on a state of so many rows. -#}
{% macro _is_lookup_worthwhile(changes, rows) -%}
    {{ return(rows >= 1000000 and rows >= 10 * changes) }}
{%- endmacro %}


{#-
    Whether so many changes fit into memory, even long ones. Then each core gets all of their keys, and
    the state is read where it lies; else both are shuffled.
-#}
{% macro _can_broadcast_keys(changes) -%}
    {{ return(changes <= 200000) }}
{%- endmacro %}


{#-
    Whether the keys of so many updates fill a filter so little that it pays: of the largest, with 655,360
    bits, at most a third. A Delta table keeps the condition of a MERGE with each commit.
-#}
{% macro _can_filter_keys(updates) -%}
    {{ return(updates <= 200000 and trueup._file_format() == 'iceberg') }}
{%- endmacro %}
