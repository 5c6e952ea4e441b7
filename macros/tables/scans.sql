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
    scans. Until then the state may have wrong rows, so a batch without the corrections refuses to read it.
-#}
{% macro _ensure_scan_forgotten(state) -%}
    {%- do run_query(trueup._set_properties_sql(state, {'trueup.scanned_snapshot': 'unverified'})) -%}
{%- endmacro %}


{#- Notes that the state is right, but no snapshot of it: the next run scans. -#}
{% macro _ensure_state_trusted(state) -%}
    {%- do run_query(trueup._set_properties_sql(state, trueup._no_scan())) -%}
{%- endmacro %}


{#-
    The property of a state that is right, but was not scanned: it was made from the changelog. On Iceberg a table
    that is replaced keeps its properties.
-#}
{% macro _no_scan() -%}
    {{ return({'trueup.scanned_snapshot': 'none'}) }}
{%- endmacro %}


{#- The snapshot at which the state was last scanned; none if no scan is noted. -#}
{% macro _scanned_snapshot(properties) -%}
    {%- set snapshot = properties.get('trueup.scanned_snapshot') -%}
    {{ return(none if snapshot in ['none', 'unverified'] else snapshot) }}
{%- endmacro %}


{#- Whether the last scan of the state was forgotten, and nobody has verified or healed it since. -#}
{% macro _is_unverified(properties) -%}
    {{ return(properties.get('trueup.scanned_snapshot') == 'unverified') }}
{%- endmacro %}
