{#-
    The plan that settles only those late commands that the comparison has seen (`late: correct`), as
    another dict. A command that arrived after the comparison is not counted yet, and the position in the log
    stays before it. The next comparison finds it and recognises it as late.

    `comparison` is what `_get_comparison` returns. It may belong to an earlier batch; then it has not seen
    the commands that arrived since.
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
        late_dropped=seen - before if seen >= before else none,
        position=fromjson(plan.last_position) if plan.last_position else none
    )) }}
{%- endmacro %}
