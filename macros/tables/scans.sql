{#-
    Notes on the last scan of a state, in its properties. correct/untouched.sql reads them. Runs may overlap: a slow
    scan may be noted after another run has forgotten the scans. So each note says which forgetting it knows, and
    counts only if that is the last one.
-#}

{#-
    Notes on the state that its snapshot was scanned at the batch `last_seq`, and is right. `properties` are those
    before the scan.
-#}
{% macro _ensure_scan_noted(state, properties, snapshot, last_seq) -%}
    {%- if snapshot is not none and snapshot != trueup._scanned_snapshot(properties) -%}
        {%- do run_query(trueup._set_properties_sql(state, {
            'trueup.scanned_snapshot': snapshot,
            'trueup.scanned_seq': last_seq,
            'trueup.scanned_at': run_started_at.timestamp() | int,
            'trueup.noted_after': trueup._last_forgetting(properties),
        })) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Forgets the last scan of the state, and returns the name of this forgetting. It runs before a commit that the count
    of commits cannot follow: a heal, several batches at once, a column that somebody has dropped, or dates that become
    timestamps. The next run scans. Until then the state may have wrong rows, so a batch without the corrections
    refuses to read it.
-#}
{% macro _ensure_scan_forgotten(state) -%}
    {%- set forgetting = trueup._new_forgetting() -%}
    {%- do run_query(trueup._set_properties_sql(state, {'trueup.forgotten': forgetting})) -%}
    {{ return(forgetting) }}
{%- endmacro %}


{#-
    Notes that the state is right, but no snapshot of it: the next run scans. `forgetting` is the name of the
    last forgetting before this run scanned the state or made it right.
-#}
{% macro _ensure_state_trusted(state, forgetting) -%}
    {%- do run_query(trueup._set_properties_sql(state, trueup._trusted_properties(forgetting))) -%}
{%- endmacro %}


{#-
    The properties of a state that is right, but was not scanned: it is made from the changelog. On Iceberg a table
    that is replaced keeps its properties, so they forget the scans before.
-#}
{% macro _no_scan_properties() -%}
    {%- set forgetting = trueup._new_forgetting() -%}
    {{ return(dict(trueup._trusted_properties(forgetting), **{'trueup.forgotten': forgetting})) }}
{%- endmacro %}


{#- The properties of a state that trueup makes. One that somebody else has made has no note of a scan. -#}
{% macro _new_state_properties(unique_key, columns) -%}
    {{ return(dict(trueup._range_properties(unique_key, columns), **trueup._no_scan_properties())) }}
{%- endmacro %}


{#- The properties of a state that is right, if nobody has forgotten the scans since `forgetting`. -#}
{% macro _trusted_properties(forgetting) -%}
    {{ return({'trueup.scanned_snapshot': 'trusted', 'trueup.noted_after': forgetting}) }}
{%- endmacro %}


{#- The name of a new forgetting: no other has it. -#}
{% macro _new_forgetting() -%}
    {{ return(invocation_id ~ ' ' ~ modules.datetime.datetime.now().timestamp()) }}
{%- endmacro %}


{#- The name of the last forgetting; `none` if nobody has forgotten the scans of the state. -#}
{% macro _last_forgetting(properties) -%}
    {{ return(properties.get('trueup.forgotten', 'none')) }}
{%- endmacro %}


{#- The snapshot at which the state was last scanned; none if no scan is noted. -#}
{% macro _scanned_snapshot(properties) -%}
    {%- set snapshot = properties.get('trueup.scanned_snapshot') -%}
    {{ return(none if snapshot == 'trusted' or trueup._is_unverified(properties) else snapshot) }}
{%- endmacro %}


{#-
    Whether the last scan of the state was forgotten, and nobody has verified or healed it since; also if no scan is
    noted, because somebody has replaced the table. An earlier version wrote the words `none` and `unverified`. It wrote
    `none` also before a heal, which may have been killed.
-#}
{% macro _is_unverified(properties) -%}
    {{ return(
        properties.get('trueup.scanned_snapshot') in [none, 'none', 'unverified']
        or properties.get('trueup.noted_after', 'none') != trueup._last_forgetting(properties)
    ) }}
{%- endmacro %}
