{#- What happened in the batches of a collection. Old batches are grouped: one row for many of them. -#}

{#-
    The group of a batch, as an SQL expression. Each of the recent batches is a group of its own; all batches
    before them make a fixed number of groups.
-#}
{% macro _batch_group_expr(last_seq, limits) -%}
    {%- set older = last_seq - limits.recent -%}
    {{ return(
        '_seq' if older <= 0
        else 'case when _seq > ' ~ older ~ ' then _seq else -1 - (_seq - 1) * ' ~ limits.older
            ~ ' div ' ~ older ~ ' end'
    ) }}
{%- endmacro %}


{#-
    The batches of each group, with the sums of their counts. `ticks_behind` and `commands_behind` say how much
    of the log the last batch of the group had read but not settled; null if its log has no position. With
    `arrived`, `commands_behind` is null.
-#}
{% macro _batch_groups_select(changelog, group) -%}
    {%- set counts = [
        'messages_received', 'inserts', 'updates', 'deletes', 'error_inserts', 'error_retractions',
        'corrections', 'ties', 'late_dropped', 'superseded'
    ] -%}
with

progress as (

    select
        *,
        {{ group }} as _group,
        sum(_statistics.error_inserts - _statistics.error_retractions) over (order by _seq)
            as open_errors,
        -- Without a position both are unknown. `greatest` leaves out nulls.
        case when _statistics.position is not null then
            greatest(_statistics.position.upper - _upper, 0)
        end as ticks_behind,
        -- With `arrived` the position does not count the commands with its last value.
        case when _statistics.position.read.commands is not null and _statistics.position.read.arrived is null then
            greatest(_statistics.position.read.commands - _statistics.commands_settled, 0)
        end as commands_behind
    from {{ changelog }}
    where _kind = 'progress'

)

select
    _group as batch_group,
    min(_seq) as first,
    max(_seq) as last,
    count(*) as batches,
    max(_upper) as upper,
    unix_millis(max(_statistics.committed_at)) as committed_at,
    {% for name in counts -%}
    coalesce(sum(_statistics.{{ name }}), 0) as {{ name }},
    {% endfor -%}
    count_if(_statistics.state_verified_by = 'heal') as heals,
    max_by(_statistics.records_indexed, _seq) as records_indexed,
    max_by(open_errors, _seq) as open_errors,
    max_by(ticks_behind, _seq) as ticks_behind,
    max_by(commands_behind, _seq) as commands_behind,
    avg(
        unix_millis(_statistics.committed_at) - unix_millis(_statistics.minted_at)
    ) / 1000 as stage_seconds
from progress
group by _group
{%- endmacro %}


{#-
    How long append and apply took, by group. The append lasts from the time of the batch to the next snapshot
    of the changelog. The apply lasts from there to the next snapshot of the state. None if the tables keep no
    list of snapshots that a query can read. If the snapshots of a group have expired, it has no row.
-#}
{% macro _get_step_times_select(tables, group) -%}
    {%- for table in [tables.changelog, tables.state] -%}
        {%- if trueup._iceberg_snapshot(trueup._get_properties(table)) is none -%}
            {{ return(none) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(trueup._step_times_select(tables, group)) }}
{%- endmacro %}


{#- The select behind `_get_step_times_select`. Iceberg keeps the times of snapshots in milliseconds. -#}
{% macro _step_times_select(tables, group) -%}
with

events as (

    select 'batch' as _event, unix_millis(_statistics.committed_at) as _at, _seq as _batch
    from {{ tables.changelog }}
    where _kind = 'progress'
    {%- for event, table in [('append', tables.changelog), ('apply', tables.state)] %}
    union all
    select '{{ event }}' as _event, unix_millis(committed_at) as _at, null as _batch
    from {{ table }}.snapshots
    where operation <> 'replace'
    {%- endfor %}

),

dated as (

    select
        _event,
        _at,
        last_value(_batch, true) over (
            order by _at, _event desc, _batch rows between unbounded preceding and current row
        ) as _seq
    from events

),

steps as (

    select
        _seq,
        min(_at) filter (where _event = 'batch') as begun_at,
        min(_at) filter (where _event = 'append') as appended_at,
        min(_at) filter (where _event = 'apply') as applied_at
    from dated
    group by _seq

)

select
    {{ group }} as batch_group,
    avg(appended_at - begun_at) / 1000 as append_seconds,
    avg(applied_at - appended_at) / 1000 as apply_seconds
from steps
where _seq is not null and appended_at is not null
group by 1
{%- endmacro %}


{#- How many keys each cause corrected, by group. -#}
{% macro _cause_counts_select(tables, group) -%}
select
    {{ group }} as batch_group,
    _cause as cause,
    count(distinct struct(_seq, {{ trueup._column_list(tables.key) }}, _error_key)) as keys
from {{ tables.changelog }}
where _kind = 'update' and _cause is not null
group by 1, 2
{%- endmacro %}
