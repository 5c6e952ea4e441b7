{#-
    Ticks for logs that have none: every command that was not seen before gets the tick of the
    batch, which is the lower. What was seen is known by partition: all offsets below its
    `next_offset`, which the progress row keeps.

    Partitions are data, of which any text may be the name: they go from the changelog to the batch
    through two variables of the Spark session, never through the text of a statement.
-#}

{#-
    Sets the session variable `settled`, how far the last batch goes, and makes the session view
    `reclocked`, the commands with ticks.
-#}
{% macro _ensure_reclocked_view(collection, progress) -%}
    {%- set settled = trueup._session_name(collection.name, 'settled') -%}
    {%- do run_query(
        'declare or replace variable ' ~ settled ~ ' ' ~ trueup._partitions_type()
    ) -%}
    {%- do run_query('set var ' ~ settled ~ ' = ' ~ trueup._subquery(
        trueup._settled_partitions_select(collection.changelog, progress.last_seq)
    )) -%}
    {%- do trueup._ensure_session_view(
        collection.commands,
        trueup._reclocked_commands_select(collection.source, progress.lower, settled)
    ) -%}
{%- endmacro %}


{#- How far the batch `seq` goes in each partition, as a select of one row; null before the first. -#}
{% macro _settled_partitions_select(changelog, seq) -%}
select any_value(_statistics.partitions)
from {{ changelog }}
where _kind = 'progress' and _seq = {{ seq }}
{%- endmacro %}


{#-
    A select of the commands with ticks: those seen before are below the `lower`. `settled` says how
    far the last batch goes, as an SQL expression.
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
    CTEs that say how far each partition goes, one row. `settled` says how
    far the last batch goes, as an SQL expression.

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


{#- The offset after the last one of a partition; raises where there is none, instead of a wrong one. -#}
{% macro _next_offset_expr() -%}
coalesce(try_add(max(_offset), 1), raise_error(concat(
            'the offset (`reclock`) must be below 9223372036854775807, the greatest bigint.\nGot: ',
            max(_offset), ' in the partition ', _partition, '; nothing is staged'
        )))
{%- endmacro %}


{#-
    What a measure of the log says, as a dict. Its partitions stay in the session variable `measured`,
    which `partitions` names: the batch takes the commands that were measured, whatever comes meanwhile.
-#}
{% macro _ensure_measured_partitions(collection, measured_log) -%}
    {%- set measured = trueup._session_name(collection, 'measured') -%}
    {%- do run_query(
        'declare or replace variable ' ~ measured ~ ' struct<figures: string, partitions: '
        ~ trueup._partitions_type() ~ '>'
    ) -%}
    {%- do run_query('set var ' ~ measured ~ ' = ' ~ trueup._subquery(
        trueup._measured_partitions_select(measured_log)
    )) -%}
    {%- set figures = fromjson(run_query('select ' ~ measured ~ '.figures').rows[0][0]) -%}
    {%- do figures.update({'partitions': measured ~ '.partitions'}) -%}
    {{ return(figures) }}
{%- endmacro %}


{#- The measure of a log as a select of one struct: `partitions`, and in JSON all else that it says. -#}
{% macro _measured_partitions_select(measured_log) -%}
select struct(
    to_json(struct(* except (partitions)), map('ignoreNullFields', 'false')) as figures,
    partitions
)
from {{ trueup._subquery(measured_log) }}
{%- endmacro %}
