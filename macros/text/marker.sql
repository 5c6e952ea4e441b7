{#-
    The comment in each statement that changes a table, or whose error needs other words. The Python module
    recognises a statement by this marker alone.
-#}
{% macro _step_marker(step) -%}
    {%- if step not in trueup._step_names() -%}
        {%- do trueup._raise_error(
            trueup._argument('_step_marker', 'step'),
            'one of ' ~ (trueup._step_names() | join(', ')), step
        ) -%}
    {%- endif -%}
/* trueup: {{ step }} */
{%- endmacro %}


{#-
    The steps that a marker may name. `commit` writes a batch. `create` makes or replaces a table or view. `alter` changes
    the columns, properties or files of a table. Two steps change nothing: `check` asks whether Spark can read what a user gave, and
    `look` asks for the properties of a table.
-#}
{% macro _step_names() -%}
    {{ return(['alter', 'check', 'commit', 'create', 'drop', 'look', 'rename']) }}
{%- endmacro %}
