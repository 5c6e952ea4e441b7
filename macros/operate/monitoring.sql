{#-
    Monitoring: what the models `trueup_batches`, `trueup_statistics`, `trueup_lag` and `trueup_health` show. All of it
    comes from the batch rows, the current rows and the snapshots of the logs. Nothing is stored for it.
-#}

{#-
    The names of the monitored collections, with the relation of each: those of the var `trueup_collections`, in which
    `package.name` is one of another package; without it, every model of the project with the materialization `trueup`.
    Only the var makes real dependencies, because dbt does not know the other models while it parses.
-#}
{% macro _monitored_collections() -%}
    {%- set names = trueup._given_var('trueup_collections', none) -%}
    {%- set found = {} -%}
    {%- if names is none -%}
        {%- set nodes = graph.nodes.values() if execute else [] -%}
        {%- for node in nodes if node.resource_type == 'model' and node.config.materialized == 'trueup' -%}
            {%- do found.update({
                node.name: api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias)
            }) -%}
        {%- endfor -%}
        {{ return(found) }}
    {%- endif -%}
    {%- if names is string or names is mapping or names is not iterable or names | length -%}
        {%- do trueup._require_list(
            'Var `trueup_collections`', names, next_step='Correct it below `vars:` in dbt_project.yml.'
        ) -%}
    {%- endif -%}
    {%- for name in names -%}
        {#- Without the package dbt warns of a model of the package that depends on one of the project. -#}
        {%- set place = ([project_name] + (name | string).split('.'))[-2:] -%}
        {%- do found.update({place[1]: ref(place[0], place[1])}) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}


{#-
    The stores of the monitored collections that exist, by name. dbt's cache does not know a store that this run has
    made, so the warehouse is asked. A command that only compiles does not ask it.
-#}
{% macro _get_monitored_stores() -%}
    {%- set collections, stores, tables = trueup._monitored_collections(), {}, {} -%}
    {%- for name, relation in collections.items() if execute and flags.WHICH not in ['compile', 'generate'] -%}
        {%- set store = trueup._store_of(relation) -%}
        {%- set schema = store.without_identifier() | string -%}
        {%- if schema not in tables -%}
            {%- set found = [] -%}
            {%- if adapter.check_schema_exists(store.database or '', store.schema) -%}
                {%- for row in run_query('show tables in ' ~ schema ~ " like '*__trueup'").rows -%}
                    {%- do found.append(row['tableName'] | lower) -%}
                {%- endfor -%}
            {%- endif -%}
            {%- do tables.update({schema: found}) -%}
        {%- endif -%}
        {%- if store.identifier | lower in tables[schema] -%}
            {%- do stores.update({name: store}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(stores) }}
{%- endmacro %}


{#- The counts of a batch row. -#}
{% macro _statistic_names() -%}
    {{ return([
        'messages_received', 'updates_committed', 'inserts', 'updates', 'deletes', 'retractions', 'error_inserts',
        'error_retractions', 'superseded', 'ties', 'renewed', 'corrections', 'late_dropped',
    ]) }}
{%- endmacro %}


{#- The parts of a batch row that people see, as a type for `from_json`. -#}
{% macro _batch_notes_type() -%}
    {{ return(
        'struct<run: string, at: bigint, repair: string, lower: bigint, upper: bigint, since: bigint, plan: string,'
        ~ ' order_errors: bigint, slices: struct<done: bigint>, position: struct<log: string, snapshot: string, seen: string>,'
        ~ ' statistics: struct<' ~ (trueup._statistic_names() | join(': bigint, ')) ~ ': bigint,'
        ~ ' records_indexed: bigint, bytes_indexed: bigint, offset_committed: bigint>>'
    ) }}
{%- endmacro %}


{#- One row for each batch of each collection, repairs among them. Batch 0, which only makes the store, has none. -#}
{% macro _batches_select(stores) -%}
with

noted as (
    {% for name, store in stores.items() %}
    select
        {{ trueup._literal(name) }} as collection,
        _seq,
        _ts,
        from_json(_batch, {{ trueup._literal(trueup._batch_notes_type()) }}) as _notes
    from {{ store }}
    where _kind = 'batch' and _seq > 0
    {{ 'union all' if not loop.last }}
    {% else %}
    select
        cast(null as string) as collection,
        cast(null as bigint) as _seq,
        cast(null as bigint) as _ts,
        cast(null as {{ trueup._batch_notes_type() }}) as _notes
    where false
    {% endfor %}
)

select
    collection,
    _seq as batch,
    _ts as tick,
    _notes.lower,
    _notes.upper,
    timestamp_seconds(_notes.at) as committed_at,
    _notes.run as run_id,
    _notes.repair,
    _notes.plan,
    _notes.since = _seq as is_code_change,
    _notes.position.log,
    coalesce(_notes.position.seen, _notes.position.snapshot) as log_snapshot,
    {% for name in trueup._statistic_names() -%}
    coalesce(_notes.statistics.{{ name }}, 0) as {{ name }},
    {% endfor -%}
    _notes.order_errors,
    _notes.statistics.records_indexed,
    _notes.statistics.bytes_indexed,
    _notes.statistics.offset_committed,
    _notes.repair is null and _notes.slices is null as snapshot_committed
from noted
{%- endmacro %}


{#- One row for each collection with a batch: the sums of its counts, and where it stands. `batches` is `trueup_batches`. -#}
{% macro _statistics_select(batches) -%}
select
    collection,
    max(batch) as batch,
    max_by(committed_at, batch) as committed_at,
    max_by(upper, batch) as frontier,
    max_by(log, batch) as log,
    max_by(log_snapshot, batch) as log_snapshot,
    count_if(repair is null) as batches_committed,
    -- A compaction and an erasure are no repairs.
    count_if(repair in ('healed', 'restored')) as repairs,
    max_by(committed_at, batch) filter (where repair in ('healed', 'restored')) as repaired_at,
    {% for name in trueup._statistic_names() -%}
    sum({{ name }}) as {{ name }},
    {% endfor -%}
    max_by(order_errors, batch) as order_errors,
    max_by(records_indexed, batch) filter (where repair is null) as records_indexed,
    max_by(bytes_indexed, batch) filter (where repair is null) as bytes_indexed,
    max(offset_committed) as offset_committed,
    bool_or(snapshot_committed) as snapshot_committed,
    max_by(
        if(log_snapshot is null or is_code_change or batch = 1, null, superseded / nullif(messages_received, 0)), batch
    ) filter (where repair is null) as superseded_share
from {{ batches }}
group by collection
{%- endmacro %}


{#-
    The logs of the stores, by the name of the collection: those whose newest batch has a snapshot of an Iceberg table.
    Of other logs nobody can say in a view whether they have new rows.
-#}
{% macro _get_monitored_logs(stores) -%}
    {%- set logs, selects = {}, [] -%}
    {%- for name, store in stores.items() -%}
        {%- do selects.append(
            'select ' ~ trueup._literal(name) ~ " as collection, from_json(max_by(_batch, _seq), 'position struct<log: string,"
            ~ " snapshot: string, seen: string>').position as position from " ~ store ~ " where _kind = 'batch'"
        ) -%}
    {%- endfor -%}
    {%- if selects -%}
        {%- for row in run_query(
            'select collection, position.log from (' ~ (selects | join(' union all ')) ~ ") where coalesce(position.seen, position.snapshot) not like '%@%'"
        ).rows if row['log'] -%}
            {%- do logs.update({row['collection']: row['log']}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(logs) }}
{%- endmacro %}


{#-
    One row for each collection with a batch: whether its log has rows that no batch has read. The snapshots of the log say
    so; no row of it is read. `statistics` is `trueup_statistics`, `logs` are tables by collection.
-#}
{% macro _lag_select(statistics, logs) -%}
with

commits as ( -- those that lead to the current rows of each log; a rewrite of files adds no row
    {% for collection, log in logs.items() %}
    select
        {{ trueup._literal(collection) }} as collection,
        string(snapshot_id) as snapshot,
        min(made_current_at) as made_at,
        any_value(operation) as operation,
        any_value(bigint(summary['added-records'])) as added
    from {{ log }}.history
    join {{ log }}.snapshots using (snapshot_id)
    where is_current_ancestor
    group by snapshot_id
    {{ 'union all' if not loop.last }}
    {% else %}
    select
        cast(null as string) as collection,
        cast(null as string) as snapshot,
        cast(null as timestamp) as made_at,
        cast(null as string) as operation,
        cast(null as bigint) as added
    where false
    {% endfor %}
),

positions as (

    select
        collection,
        committed_at,
        log,
        if(log is null or log_snapshot like '%@%', null, log_snapshot) as log_snapshot
    from {{ statistics }}

),

counted as (

    select
        positions.collection,
        positions.log,
        positions.committed_at,
        positions.log_snapshot is not null as is_known,
        last_read.snapshot is not null as is_counted,
        count(waiting.collection) as commits_waiting,
        coalesce(sum(waiting.added), 0) as rows_waiting,
        min(waiting.made_at) as waiting_since
    from positions
    left join commits as last_read
        on positions.collection = last_read.collection and positions.log_snapshot = last_read.snapshot
    left join commits as waiting
        on positions.collection = waiting.collection
        and waiting.operation <> 'replace'
        and coalesce(last_read.made_at < waiting.made_at, true)
    group by positions.collection, positions.log, positions.committed_at, is_known, is_counted

)

select
    collection,
    log,
    if(is_known, commits_waiting > 0, null) as is_behind,
    if(is_known and is_counted, commits_waiting, null) as commits_waiting,
    if(is_known and is_counted, rows_waiting, null) as rows_waiting,
    if(is_known, waiting_since, null) as waiting_since,
    committed_at
from counted
{%- endmacro %}


{#-
    One row for each monitored collection: whether it is well. `names` are the collections, `stores` their stores by name,
    `statistics` and `lag` the models of these names.
-#}
{% macro _health_select(names, stores, statistics, lag) -%}
with

listed as (
    {% for name in names %}
    select {{ trueup._literal(name) }} as collection
    {{ 'union all' if not loop.last }}
    {% else %}
    select cast(null as string) as collection where false
    {% endfor %}
),

facts as (
    {% for name, store in stores.items() %}
    select
        {{ trueup._literal(name) }} as collection,
        count_if(_error_kind = 'tie') as open_ties,
        count_if(_error_kind in ('value', 'key', 'null_key')) as open_errors,
        count_if(_error_kind in ('order', 'origin')) as open_order_errors,
        -- Numbers have no known unit, so only times are compared with the clock.
        count_if(
            case
                when contains(order_type, ',_1:timestamp_ntz') then try_cast(first_of_order as timestamp)
                when contains(order_type, ',_1:timestamp') then timestamp_micros(try_cast(first_of_order as bigint))
                when contains(order_type, ',_1:date') then timestamp(date_from_unix_date(try_cast(first_of_order as int)))
            end > current_timestamp() + interval 1 day
        ) as orders_ahead,
        max_by(get_json_object(_batch, '$.doubt.seq'), _seq) filter (where _kind = 'batch') as doubted_batch,
        max_by(cast(get_json_object(_batch, '$.statistics.below_places') as bigint), _seq) filter (
            where _kind = 'batch' and get_json_object(_batch, '$.repair') is null
        ) as messages_below_places
    from (
        select _kind, _seq, _error_kind, _batch, split_part(_order, char(2), 2) as first_of_order
        from {{ store }}
        where _kind in ({{ trueup._current_kinds() }}, 'batch')
    )
    cross join (
        select max_by(get_json_object(_batch, '$.order_type'), _seq) as order_type from {{ store }} where _kind = 'batch'
    )
    {{ 'union all' if not loop.last }}
    {% else %}
    select
        cast(null as string) as collection,
        cast(null as bigint) as open_ties,
        cast(null as bigint) as open_errors,
        cast(null as bigint) as open_order_errors,
        cast(null as bigint) as orders_ahead,
        cast(null as string) as doubted_batch,
        cast(null as bigint) as messages_below_places
    where false
    {% endfor %}
),

joined as (

    select
        listed.collection,
        statistics.batch,
        statistics.committed_at,
        round((unix_seconds(current_timestamp()) - unix_seconds(statistics.committed_at)) / 86400, 2) as days_since_batch,
        facts.* except (collection),
        statistics.superseded_share,
        statistics.repairs,
        statistics.repaired_at,
        lag.is_behind,
        lag.rows_waiting,
        lag.waiting_since
    from listed
    left join facts on listed.collection = facts.collection
    left join {{ statistics }} as statistics on listed.collection = statistics.collection
    left join {{ lag }} as lag on listed.collection = lag.collection

),

judged as (

    select
        *,
        array_compact(array(
            if(open_ties > 0, concat('keys with a tie: ', open_ties), null),
            if(open_errors > 0, concat('keys in error: ', open_errors), null),
            if(open_order_errors > 0, concat('keys with a command without an order: ', open_order_errors), null)
        )) as errors,
        array_compact(array(
            if(open_ties is null, 'no store when this view was made', null),
            if(
                doubted_batch is not null,
                concat('the orders of the source may have begun again: batch ', doubted_batch), null
            ),
            if(
                messages_below_places > 0,
                concat('new messages at places that were read before: ', messages_below_places), null
            ),
            if(orders_ahead > 0, concat('keys whose order is ahead of the clock: ', orders_ahead), null),
            if(superseded_share > 0.5, 'more than half of the newest batch was superseded', null),
            if(repaired_at > current_timestamp() - interval 7 days, concat('repaired at ', repaired_at), null),
            if(
                is_behind and waiting_since < current_timestamp() - interval {{ trueup._var('trueup_stalled_after') }} seconds,
                concat('the log has rows that no batch has read, since ', waiting_since), null
            )
        )) as warnings
    from joined

)

select
    collection,
    case when size(errors) > 0 then 'error' when size(warnings) > 0 then 'warning' else 'ok' end as state,
    nullif(concat_ws('; ', errors, warnings), '') as why,
    * except (collection, errors, warnings)
from judged
{%- endmacro %}
