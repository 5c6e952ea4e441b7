{#-
    Makes an empty state if the changelog has lost its state. The heal then treats it as a state that has
    lost all its rows, and reports them. Returns whether the state was missing.

    dbt knows only the tables that existed when its run began. Another run may have made the state since
    then. In that case this run makes nothing, and the table property says so.
-#}
{% macro _ensure_empty_lost_state(collection) -%}
    {%- set changelog, state = collection.changelog, collection.state -%}
    {%- if load_relation(state) is not none or load_relation(changelog) is none -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set columns = trueup._ensure_sound_columns(collection) -%}
    {%- do trueup._ensure_table(
        state, trueup._unapplied_state_select(changelog, collection.unique_key, columns),
        own_properties=dict(
            trueup._new_state_properties(collection.unique_key, columns), **{'trueup.made_by': invocation_id}
        )
    ) -%}
    {{ return(trueup._get_properties(state).get('trueup.made_by') == invocation_id) }}
{%- endmacro %}


{#-
    Whether the state is lost. No run leaves such a state, not even a killed run: the state was missing, has
    no progress row, is more than one batch behind, is behind a compaction, or is behind with a progress row that the
    apply would not find.
-#}
{% macro _get_is_state_lost(collection, is_missing, tail) -%}
    {{ return(
        tail.applied_seq is none
        or tail.applied_seq < tail.last_seq - 1
        or (tail.last_seq > 0 and is_missing)
        or trueup._is_tail_compacted(tail)
        or trueup._get_is_progress_row_wrong(collection, tail)
    ) }}
{%- endmacro %}
