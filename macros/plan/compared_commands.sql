{#-
    The plan that settles only those late commands that the comparison has seen (`late: correct`), as
    another dict. A command that arrived after the comparison is not counted yet. The next comparison finds it
    and recognises it as late.

    `comparison` is what `_get_comparison` returns. It may belong to an earlier batch; then it has not seen
    the commands that arrived since.
-#}
{% macro _with_compared_commands(plan, comparison) -%}
    {%- set before = plan.settled_before -%}
    {%- if before is none -%}
        {{ return(plan) }}
    {%- endif -%}
    {%- set is_of_batch = comparison.get('trueup.after_batch_id') == plan.last_batch_id -%}
    {%- set comparison = comparison if is_of_batch else none -%}
    {%- set seen = comparison.get('trueup.commands_settled', before) | int if comparison else before -%}
    {%- set plan = dict(
        plan,
        definition=trueup._compared_definition(plan, comparison),
        position=trueup._compared_position(plan, comparison, sees_all=seen >= plan.commands_settled)
    ) -%}
    {%- if seen >= plan.commands_settled -%}
        {{ return(plan) }}
    {%- endif -%}
    {{ return(dict(
        plan, commands_settled=seen, late_dropped=seen - before if seen >= before else none
    )) }}
{%- endmacro %}


{#-
    The definition that the batch records. If the code has changed since the batch before, and the `comparison`
    (none if the batch has none) did not use the new code, then some rows are made by the old code and some by the
    new. So it is `not compared`, and the next run compares all keys. After an adoption the mark
    of the adoption stays. It has the same effect.
-#}
{% macro _compared_definition(plan, comparison) -%}
    {%- set settled, adopted = plan.settled_definition, trueup._adopted_definition() -%}
    {%- set is_compared = comparison and comparison.get('trueup.definition') == plan.definition -%}
    {%- if is_compared or settled is none or (not comparison and settled == plan.definition) -%}
        {{ return(plan.definition) }}
    {%- endif -%}
    {{ return(adopted if settled == adopted else 'not compared') }}
{%- endmacro %}


{#-
    The position in the log that the batch records. It never goes past what was compared:

    - With a `comparison` (else none) whose upper the batch reaches, it is that of the comparison.
    - Without a comparison it is that of the plan, if this run has read only new commands and none of them is late
      (`sees_all`).
    - Otherwise it is the last one.
-#}
{% macro _compared_position(plan, comparison, sees_all) -%}
    {%- if comparison and plan.upper >= comparison.get('trueup.upper', 'null') | int -%}
        {{ return(fromjson(comparison.get('trueup.position', 'null'))) }}
    {%- elif not comparison and plan.whole_log_reason is none and sees_all -%}
        {{ return(plan.position) }}
    {%- endif -%}
    {%- set last = fromjson(plan.last_position) if plan.last_position else none -%}
    {%- if last and plan.position and last.code != plan.position.code -%}
        {#- Rows of this batch are made by other code, so no code may trust the old position. -#}
        {{ return(dict(last, code=none)) }}
    {%- endif -%}
    {{ return(last) }}
{%- endmacro %}
