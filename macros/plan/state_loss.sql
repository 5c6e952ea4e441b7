{#-
    Whether the state is not one that a run leaves, even one that is killed: it was missing, has no
    progress row, or is more than one batch behind.
-#}
{% macro _is_state_lost(was_there, position) -%}
    {{ return(
        position.applied_seq is none
        or position.applied_seq < position.last_seq - 1
        or (position.last_seq > 0 and not was_there)
    ) }}
{%- endmacro %}


{#- Raises where late commands of a log without ticks would have to be put right. -#}
{% macro _require_no_correction_of_offsets(options) -%}
    {%- if options.late == 'correct' -%}
        {%- do trueup._raise_error(
            'Option `late` of ' ~ model.name, 'drop or fail where the log has no ticks (`reclock`)',
            options.late,
            'A command with an offset below what was settled was seen before: leave it out.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
