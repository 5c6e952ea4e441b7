{#- The statistics of collections. Only committed batches count. -#}

{#-
    One row for each collection: its counters and gauges. `changelogs` and `batches` are tables by collection,
    `runs` is the model `trueup_runs`.

    Rule: in a log without ticks, a batch settles all offsets that it reads. So it knows no later offset.
-#}
{% macro _statistics_select(changelogs, batches, runs) -%}
with

{{ trueup._listed_ctes(changelogs) }},

progress as (

    {{ trueup._progress_rows_select(changelogs) | indent }}

),

staged as (

    {{ trueup._progress_rows_select(batches) | indent }}

),

rebuilds as (

    select
        collection,
        max_by(seconds, recorded_at) as rehydration_latency,
        max_by(updates, recorded_at) as rehydration_updates
    from {{ runs }}
    where outcome = 'rehydrated'
    group by collection

),

offsets as (

    select
        *,
        coalesce(
            aggregate(_statistics.partitions, 0L, (total, each) -> total + each.next_offset), _upper
        ) as _offset_committed
    from progress

),

committed as (

    select
        collection,
        {% for name in trueup._counters() -%}
        coalesce(sum(_statistics.{{ name }}), 0) as {{ name }},
        {% endfor -%}
        sum(_statistics.late_dropped) as late_dropped,
        sum(_statistics.superseded) as superseded,
        max(_seq) as batch,
        max_by(struct(_statistics, _certificate), _seq) as _last,
        nullif(min_by(_statistics.commands_read, _seq), 0) as snapshot_records_known,
        max(_upper) > min(_lower) as snapshot_committed,
        max(_offset_committed) as offset_committed,
        max(if(
            _statistics.partitions is null,
            greatest(_statistics.position.upper, _offset_committed),
            _offset_committed
        )) as offset_known
    from offsets
    group by collection

)

select
    listed.collection,
    coalesce(committed.messages_received, 0) as messages_received,
    coalesce(committed.updates_staged, 0) + coalesce(staged._statistics.updates_staged, 0)
        as updates_staged,
    coalesce(committed.updates_staged, 0) as updates_committed,
    {% for name in trueup._counters()[2:] -%}
    coalesce(committed.{{ name }}, 0) as {{ name }},
    {% endfor -%}
    committed.late_dropped,
    committed.superseded,
    coalesce(committed._last._statistics.records_indexed, 0) as records_indexed,
    coalesce({{ trueup._total_expr('committed._last._certificate', 'len_sum') }}, 0) as bytes_indexed,
    committed._last._statistics.tombstones as envelope_state_tombstones,
    committed.snapshot_records_known,
    -- `least` ignores a null.
    case when committed.snapshot_records_known is not null then
        least(committed.snapshot_records_known, committed._last._statistics.commands_settled)
    end as snapshot_records_staged,
    coalesce(committed.snapshot_committed, false) as snapshot_committed,
    committed.offset_known,
    committed.offset_committed,
    rebuilds.rehydration_latency,
    rebuilds.rehydration_updates,
    coalesce(committed.batch, 0) as batches_committed,
    committed._last._statistics.committed_at
from listed
left join committed on listed.collection = committed.collection
left join staged
    on listed.collection = staged.collection
    and staged._seq > coalesce(committed.batch, 0)
left join rebuilds on listed.collection = rebuilds.collection
{%- endmacro %}


{#- The statistics that are summed over all batches. -#}
{% macro _counters() -%}
    {{ return([
        'messages_received', 'updates_staged', 'inserts', 'updates', 'deletes', 'retractions',
        'error_inserts', 'error_retractions', 'ties', 'corrections'
    ]) }}
{%- endmacro %}
