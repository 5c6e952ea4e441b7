{#-
    The comment at the start of a statement of ours that writes to a table: `udfs/conflicts.py` knows
    by it, and by nothing else, what the statement is and what it has lost to another run.
-#}
{% macro _step_marker(step, on_conflict=none) -%}
    {%- if step not in trueup._step_names() -%}
        {%- do trueup._raise_error(
            trueup._argument('_mark', 'step'),
            'one of ' ~ (trueup._step_names() | join(', ')), step
        ) -%}
    {%- endif -%}
/* trueup: {{ step }}{{ ', on_conflict: ' ~ on_conflict if on_conflict }} */
{%- endmacro %}


{#- The steps that write. `create` makes or replaces a table or a view, whatever for. -#}
{% macro _step_names() -%}
    {{ return([
        'append', 'apply', 'compact', 'compare', 'create', 'discard', 'heal', 'rebuild', 'widen'
    ]) }}
{%- endmacro %}
