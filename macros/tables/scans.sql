{#- Notes on the last scan of a state, in its properties. untouched.sql reads them. -#}

{#- Notes on the state that its snapshot was scanned at the batch `last_seq`, and is right. -#}
{% macro _ensure_scan_noted(state, properties, snapshot, last_seq) -%}
    {%- if snapshot is not none and snapshot != properties.get('trueup.scanned_snapshot') -%}
        {%- do run_query(trueup._set_properties_sql(state, {
            'trueup.scanned_snapshot': snapshot,
            'trueup.scanned_seq': last_seq,
            'trueup.scanned_at': run_started_at.timestamp() | int,
        })) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Forgets the last scan of the state. It runs before a commit that the count of commits cannot follow: a
    heal, several batches at once, a column that somebody has dropped, or dates that become timestamps. The next run
    scans.
-#}
{% macro _ensure_scan_forgotten(state) -%}
    {%- do run_query(trueup._set_properties_sql(state, trueup._no_scan())) -%}
{%- endmacro %}


{#- The property of a state that says that no scan is noted. On Iceberg a table that is replaced keeps its properties. -#}
{% macro _no_scan() -%}
    {{ return({'trueup.scanned_snapshot': 'none'}) }}
{%- endmacro %}
