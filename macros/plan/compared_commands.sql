{#-
    The plan with only those late commands settled that the comparison has seen (`late: correct`), as another
    dict. One that came after the comparison stays uncounted: the next comparison finds it, and knows it
    for late.

    `comparison` is what `_get_comparison` returns; it may be one before another batch, which has seen
    nothing of what came since.
-#}
{% macro _with_compared_commands(plan, comparison) -%}
    {%- set before = plan.settled_before -%}
    {%- if before is none -%}
        {{ return(plan) }}
    {%- endif -%}
    {%- set is_of_batch = comparison.get('trueup.after_batch_id') == plan.last_batch_id -%}
    {%- set seen = comparison.get('trueup.commands_settled', before) | int
        if is_of_batch else before -%}
    {%- if seen >= plan.commands_settled -%}
        {{ return(plan) }}
    {%- endif -%}
    {{ return(dict(
        plan,
        commands_settled=seen,
        late_dropped=seen - before if seen >= before else none
    )) }}
{%- endmacro %}
