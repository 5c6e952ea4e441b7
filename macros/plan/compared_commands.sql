{#-
    The plan that settles only those late commands that the comparison has seen (`late: correct`), as
    another dict. A command that arrived after the comparison is not counted yet. The next comparison finds it
    and recognises it as late.

    The position in the log never goes past what was compared. If the corrections of this batch come from a
    comparison, its position is taken. If nothing was compared, the position moves only if this run, too, has
    read nothing but new commands and found none of them late.

    `comparison` is what `_get_comparison` returns. It may belong to an earlier batch; then it has not seen
    the commands that arrived since.
-#}
{% macro _with_compared_commands(plan, comparison) -%}
    {%- set before = plan.settled_before -%}
    {%- if before is none -%}
        {{ return(plan) }}
    {%- endif -%}
    {%- set is_of_batch = comparison.get('trueup.after_batch_id') == plan.last_batch_id -%}
    {%- set is_by_definition = is_of_batch and comparison.get('trueup.definition') == plan.definition -%}
    {%- if not is_by_definition and plan.settled_definition is not none -%}
        {#- Nobody has compared the rows by this definition, so the next run must still compare all keys. -#}
        {%- set plan = dict(plan, definition=plan.settled_definition) -%}
    {%- endif -%}
    {%- set seen = comparison.get('trueup.commands_settled', before) | int
        if is_of_batch else before -%}
    {%- set last_position = fromjson(plan.last_position) if plan.last_position else none -%}
    {%- set moves = plan.whole_log_reason is none and seen >= plan.commands_settled -%}
    {%- set position = fromjson(comparison.get('trueup.position', 'null')) if is_of_batch
        else plan.position if moves else last_position -%}
    {%- if seen >= plan.commands_settled -%}
        {{ return(dict(plan, position=position)) }}
    {%- endif -%}
    {{ return(dict(
        plan,
        position=position,
        commands_settled=seen,
        late_dropped=seen - before if seen >= before else none
    )) }}
{%- endmacro %}
