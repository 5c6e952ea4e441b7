{#-
    CTEs that cut the batch at a tick. `cut_upper` takes as many ticks as hold at most `max_commands`
    commands, but at least one tick. `cut_count` is the number of their commands. Both are null if all
    commands fit. `commands_to_settle` is the number of commands without the cut.

    Reads: `capped`, the relation `commands`. Ends with: `cut`.
-#}
{% macro _cut_ctes(commands, lower, max_commands) -%}
ticks as (

    select
        _ts,
        sum(count(*)) over (order by _ts) as command_count
    from {{ commands }}
    where _ts >= {{ lower }} and _ts < (select upper from capped)
    group by _ts

),

cut as (

    select
        {% for name, column in [('cut_upper', '_ts'), ('cut_count', 'command_count')] -%}
        case
            when max(command_count) > {{ max_commands }} then coalesce(
                max({{ column }}) filter (where command_count <= {{ max_commands }}),
                min({{ column }})
            ){{ ' + 1' if name == 'cut_upper' }}
        end as {{ name }},
        {% endfor -%}
        coalesce(max(command_count), 0) as commands_to_settle
    from ticks

)
{%- endmacro %}
