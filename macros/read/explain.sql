{#-
    Why a row of a collection looks as it does, as a select: the commands of one key and the rule by which each
    won or lost, every update of the key, and whether log, changelog and state agree. See the YAML beside this
    file.
-#}
{% macro explain(collection, key=none, error_key=none, latest=20) -%}
    {%- set changelog, state = ref(collection ~ '_changelog'), ref(collection ~ '_state') -%}
    {%- if not execute -%}
        {{ return('select * from ' ~ changelog ~ ' cross join ' ~ state) }}
    {%- endif -%}
    {%- if latest is not none and not (trueup._is_bigint(latest) and latest > 0) -%}
        {%- do trueup._raise_error(
            trueup._argument('explain', 'latest'), 'a positive integer, or none for no limit', latest
        ) -%}
    {%- endif -%}
    {%- set explained = trueup._get_explained_collection(collection, changelog, state, 'explain') -%}
    {%- set is_identity = trueup._get_is_identity_expr(explained, key, error_key) -%}
    {{ return(trueup._explained_select(explained, is_identity, latest)) }}
{%- endmacro %}


{#-
    The select behind `explain`. `is_identity` is the condition that a row belongs to the key.

    Only the first CTEs have the columns of the user. Some CTEs have a random number, `_step_token`, which nobody
    reads: so Spark computes them once for all CTEs that use them.
-#}
{% macro _explained_select(collection, is_identity, latest) -%}
    {%- set values = trueup._value_names(collection.columns, collection.unique_key) -%}
with

{{ trueup._explained_frontier_ctes(collection) }},

explained as (

    select *, rand() as _step_token
    from {{ trueup._subquery(trueup._explained_input_select(collection)) }}
    where {{ is_identity }} or _is_truncate

),

{{ trueup._explained_updates_ctes(collection, values, is_identity) }},

{% if not collection.is_by_select -%}
{{ trueup._settled_winners_ctes(collection, values) }},

{{ trueup._judged_commands_ctes(collection, values) }},

{% endif -%}
{{ trueup._compared_rows_ctes(collection, values, is_identity) }},

facts as (

{{ trueup._row_facts_select(collection, values) }}

union all

{{ trueup._update_facts_select(values) }}
{%- if not collection.is_by_select %}

union all

{{ trueup._command_facts_select(collection, values) }}
{%- endif %}

)

select *
from facts
{%- if latest is not none %}
-- The winner is shown, however old it is.
where row_no <= {{ latest }} or verdict = 'wins'
{%- endif %}
order by fact_no, row_no
{%- endmacro %}


{#-
    The input of the fold for `explain`, as a select: the commands of all ticks, or the rows of a SELECT. If
    the log has no ticks, its commands get the tick of the batch that read them.
-#}
{% macro _explained_input_select(collection) -%}
    {%- set source = collection.commands -%}
    {%- if '_offset' in collection.extras -%}
        {%- set source = trueup._subquery(trueup._dated_commands_select(collection)) -%}
    {%- endif -%}
    {{ return(trueup._input_select(
        dict(collection, commands=source), collection.columns, trueup._least_tick_expr(),
        trueup._greatest_upper_expr()
    )) }}
{%- endmacro %}


{#-
    The commands of a log without ticks, each with the tick of the batch that read it, as a select. A command
    that no batch has read gets the greatest tick of all.
-#}
{% macro _dated_commands_select(collection) -%}
with

batches as (

    select _lower, inline(_statistics.partitions)
    from {{ collection.changelog }}
    where _kind = 'progress'

),

-- A batch has read the commands before its next offset, except those that a batch before it has read.
places as (

    select _partition, next_offset as _offset, min(_lower) as _lower, null as _command_row
    from batches
    group by _partition, next_offset
    union all
    select _partition, _offset, null as _lower, struct(* except (_ts)) as _command_row
    from {{ collection.commands }}

),

dated as (

    select
        _command_row,
        first_value(_lower, true) over (
            partition by _partition order by _offset, _command_row is not null
            rows between current row and unbounded following
        ) as _lower
    from places

)

select _command_row.*, coalesce(_lower, cast({{ trueup._greatest_bigint() - 1 }} as bigint)) as _ts
from dated
where _command_row is not null
{%- endmacro %}
