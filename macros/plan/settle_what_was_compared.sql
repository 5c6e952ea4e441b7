{#-
    With `late: correct` a batch settles those late commands that its comparison has seen. One that came
    after the comparison stays uncounted: the next comparison finds it, and knows it for late.

    `comparison` is what `_get_comparison` returns; it may be one before another batch, which has seen
    nothing of what came since.
-#}
{% macro _with_compared_commands(frontier, comparison) -%}
    {%- set before = frontier.settled_before -%}
    {%- if before is not none -%}
        {%- set is_of_batch = comparison.get('trueup.after_batch_id') == frontier.last_batch_id -%}
        {%- set seen = comparison.get('trueup.commands_settled', before) | int
            if is_of_batch else before -%}
        {%- if seen < frontier.commands_settled -%}
            {%- do frontier.update({
                'commands_settled': seen,
                'late_dropped': seen - before if seen >= before else none,
            }) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}
