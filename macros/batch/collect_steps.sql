{#-
    CTEs that put the commands of the batch and what is persisted for their keys in one row form:
    identity, `_step`, `_ts`, `_order`, `_hash`, `_value`. `_value` is a struct of the value columns
    and `_error`, or null for no value.

    Steps of a key, in sequence: 0 what is persisted (no `_ts`), 1 a correction at the lower,
    2 the commands. Nothing makes step 1 yet.
-#}
{% macro collect_steps(input, state, identity) -%}
    {%- set columns = trueup._column_list(identity) -%}
commands as (

    select * from {{ input }}

),

-- Rule: the prior value is what is persisted, never what a run believes that it wrote.
prior as (

    select
        {{ columns }},
        0 as _step,
        cast(null as bigint) as _ts,
        null as _order,
        cast(null as bigint) as _hash,
        struct(* except ({{ columns }}, _ts, _kind, _seq, _upper)) as _value
    from {{ state }} as persisted
    left semi join commands
        on {{ trueup._same_key(identity, 'persisted', 'commands') }}
    where _kind <> 'progress'

),

prior_and_commands as (

    select {{ columns }}, _step, _ts, _order, _hash, _value from prior
    union all
    select {{ columns }}, 2 as _step, _ts, _order, _hash, _value from commands

),

-- The one shuffle of the batch: all that follows is by key, and updates and progress reuse it.
steps as (

    select /*+ repartition({{ columns }}) */ * from prior_and_commands

)
{%- endmacro %}
