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
    {%- if not is_by_definition and plan.settled_definition not in [none, plan.definition] -%}
        {#-
            The rows were not compared by this definition, and this batch is not made by the last one. So the next
            run must compare all keys, whatever its definition is.
        -#}
        {%- set adopted = trueup._adopted_definition() -%}
        {%- set plan = dict(
            plan, definition=adopted if plan.settled_definition == adopted else 'not compared'
        ) -%}
    {%- endif -%}
    {%- set seen = comparison.get('trueup.commands_settled', before) | int
        if is_of_batch else before -%}
    {%- set last_position = fromjson(plan.last_position) if plan.last_position else none -%}
    {%- if last_position and plan.position and last_position.code != plan.position.code -%}
        {#- Rows of this batch are made by other code, so no code may trust the old position. -#}
        {%- set last_position = dict(last_position, code=none) -%}
    {%- endif -%}
    {%- set moves = plan.whole_log_reason is none and seen >= plan.commands_settled -%}
    {#- The position of a comparison says what is settled below its own upper. -#}
    {%- set is_as_far = is_of_batch and plan.upper >= comparison.get('trueup.upper', 'null') | int -%}
    {%- set position = fromjson(comparison.get('trueup.position', 'null')) if is_as_far
        else plan.position if moves and not is_of_batch else last_position -%}
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
