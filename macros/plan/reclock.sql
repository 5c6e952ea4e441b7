{#-
    Ticks for a log without ticks. Each new command gets the tick of the batch, which is the lower. The
    progress row keeps `next_offset` for each partition. A command is old if its offset is below the
    `next_offset` of its partition.

    A partition may have any text as its name. So the names go from the changelog to the batch through two
    variables of the Spark session, and never through the text of a statement.
-#}

{#-
    Sets the session variable `settled`: how far the last batch goes. Makes the session view `reclocked`, the
    commands with ticks, and returns its name.
-#}
{% macro _ensure_reclocked_view(collection, progress, commands) -%}
    {%- set settled = trueup._session_name(collection.name, 'settled') -%}
    {%- do trueup._ensure_session_variable(settled, trueup._partitions_type()) -%}
    {%- do run_query('set var ' ~ settled ~ ' = ' ~ trueup._subquery(
        trueup._settled_partitions_select(collection.changelog, progress.last_seq)
    )) -%}
    {%- set reclocked = trueup._session_name(collection.name, 'reclocked') -%}
    {%- do trueup._ensure_session_view(
        reclocked, trueup._reclocked_commands_select(commands, progress.lower, settled)
    ) -%}
    {{ return(reclocked) }}
{%- endmacro %}


{#- A select of one row: how far the batch `seq` goes in each partition; null before the first batch. -#}
{% macro _settled_partitions_select(changelog, seq) -%}
select any_value(_statistics.partitions)
from {{ changelog }}
where _kind = 'progress' and _seq = {{ seq }}
{%- endmacro %}


{#-
    A select of the commands with ticks. Old commands get a tick below the `lower`. `settled` is an SQL
    expression of how far the last batch goes.
-#}
{% macro _reclocked_commands_select(commands, lower, settled) -%}
with

last_progress as (

    select
        cast({{ lower }} as bigint) as _lower,
        {{ trueup._next_offsets_expr(settled) }} as _next_offsets

)

select
    commands.* except (_ts),
    case
        when _partition is null or _offset is null then null
        when _offset < try_element_at(_next_offsets, _partition) then _lower - 1
        else _lower
    end as _ts
from {{ commands }} as commands
cross join last_progress
{%- endmacro %}


{#-
    CTEs that find how far each partition goes, one row. `settled` is an SQL expression of how far the last
    batch goes.

    Reads: the relation `commands`. Ends with: `reclocked`.
-#}
{% macro _partitions_ctes(commands, lower, settled) -%}
settled_partitions as (

    select inline({{ settled }})

),

log_partitions as (

    select
        _partition,
        min(_offset) filter (where _ts >= {{ lower }}) as first_offset,
        {{ trueup._next_offset_expr() }} as next_offset
    from {{ commands }}
    where _ts is not null
    group by _partition
    union all
    select _partition, null as first_offset, next_offset from settled_partitions

),

last_offsets as (

    select
        _partition,
        min(first_offset) as first_offset,
        max(next_offset) as next_offset
    from log_partitions
    group by _partition

),

reclocked as (

    select sort_array(collect_list(struct(_partition, first_offset, next_offset))) as partitions
    from last_offsets

)
{%- endmacro %}


{#- The offset after the last one of a partition. If there is no such bigint, it raises. -#}
{% macro _next_offset_expr() -%}
coalesce(try_add(max(_offset), 1), raise_error(concat(
            'the offset (`reclock`) must be below {{ trueup._greatest_bigint() }}, the greatest bigint.\nGot: ',
            max(_offset), ' in the partition ', _partition,
            '; nothing is staged. Leave the command out of the relation that `trueup.commands` reads'
        )))
{%- endmacro %}


{#-
    The measure of the log, as a dict. Its partitions stay in the session variable `measured`, which
    `partitions` names. So the batch takes exactly the measured commands, even if more arrive meanwhile.
-#}
{% macro _ensure_measured_partitions(collection, measured_log) -%}
    {%- set measured = trueup._session_name(collection, 'measured') -%}
    {%- do trueup._ensure_session_variable(
        measured, 'struct<figures: string, partitions: ' ~ trueup._partitions_type() ~ '>'
    ) -%}
    {%- do run_query('set var ' ~ measured ~ ' = ' ~ trueup._subquery(
        trueup._measured_partitions_select(measured_log)
    )) -%}
    {%- set figures = fromjson(run_query('select ' ~ measured ~ '.figures').rows[0][0]) -%}
    {%- do figures.update({'partitions': measured ~ '.partitions'}) -%}
    {{ return(figures) }}
{%- endmacro %}


{#- The measure of a log as a select of one struct: `partitions`, and all other fields in JSON. -#}
{% macro _measured_partitions_select(measured_log) -%}
select struct(
    to_json(struct(* except (partitions)), map('ignoreNullFields', 'false')) as figures,
    partitions
)
from {{ trueup._subquery(measured_log) }}
{%- endmacro %}
