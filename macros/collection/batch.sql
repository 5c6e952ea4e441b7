{#-
    The batch row: what a commit did, as one JSON text. The statement that writes the batch computes it.

    - `statistics`: the counts of the batch;
    - `certificate`: of each bucket of keys the count, the length, the checksum in two halves and the XOR of the current
      rows and errors, and the same of their orders. It is linear: that of the batch before plus what this batch adds;
    - `history`: the same of all updates, for the whole store;
    - `plan`: a hash of the changes, by which a person approves them;
    - the notes of the plan: see `_notes`.
-#}

{#-
    The CTEs up to `batch`: one row with `_batch`.

    Reads: `decided`. Ends with: `batch`.
-#}
{% macro _batch_ctes(collection, plan) -%}
    {%- set before = '_before' if plan.ticks else '_old' -%}
    {%- set was = before ~ '._digest is not null' -%}
    {%- set is_ = '_next._digest is not null' -%}
    {%- set opened = "case _order_change when 'opened' then 1 when 'closed' then -1 else 0 end" if plan.has_unordered else '0' -%}
    {%- set order_digest = trueup._error_digest_expr(collection, 'order', trueup._order_error_text()) -%}
    {%- set order_length = trueup._error_length('order', trueup._order_error_text()) -%}
    {%- set cause = trueup._cause_expr(collection, plan) -%}
    {%- set has_causes = cause != 'cast(null as string)' -%}
    {%- set counts = {
        'inserts': is_ ~ ' and _next._error_kind is null and (' ~ before ~ '._digest is null or ' ~ before ~ '._error_kind is not null)',
        'updates': is_ ~ ' and _next._error_kind is null and ' ~ was ~ ' and ' ~ before ~ '._error_kind is null',
        'deletes': was ~ ' and ' ~ before ~ '._error_kind is null and (_next._digest is null or _next._error_kind is not null)',
        'error_inserts': '_next._error_kind is not null',
        'error_retractions': before ~ '._error_kind is not null',
        'ties': "_next._error_kind = 'tie'",
    } -%}
    {%- set sums = [
        'commands', 'superseded', 'inserts', 'updates', 'deletes', 'error_inserts', 'error_retractions', 'ties', 'renewed',
        'order_errors', 'update_count', 'update_low', 'update_high',
    ] + (['corrections'] if has_causes else []) + (['late', 'replaced'] if plan.ticks else []) + (['unprovable'] if plan.forgotten else [])
        + (['ahead'] if trueup._has_times_as_order(collection) else []) -%}
    {#- In a log with ticks the updates of a batch have many ticks. -#}
    {%- set at = ', _tick' if plan.ticks else '' -%}
    {%- set certified = ['n', 'length', 'low', 'high', 'orders', 'order_low', 'order_high'] -%}
    {%- set mixed = ['mix', 'order_mix'] -%}
before as ( -- what the batch before left; Delta cannot read the target of a MERGE in a subquery

    select from_json(_batch, {{ trueup._literal(trueup._batch_type()) }}) as _before
    from {{ trueup._subquery(trueup._previous_batch_select(collection, plan)) }}

),

changed as ( -- what each key adds to the sums

    select
        *,
        -- A check that also makes this use of `decided` read `_value`: see `done`.
        if(_change in ('inserted', 'updated') and _next._error_kind is null and _value is null,
            raise_error('internal error: a row of {{ collection.name }} without a value'),
            {{ trueup._key_bucket_expr(collection) }}) as bucket,
        _change in ('inserted', 'updated', 'deleted', 'truncated') as _is_changed,
        {{ opened }} as _opened,
        {{ order_digest if plan.has_unordered else '0L' }} as _order_digest,
        xxhash64(_next._digest, 1{{ at }}) as _added,
        xxhash64({{ before }}._digest, -1{{ at }}) as _retracted,
        if(_change = 'none', null, {{ trueup._order_mark_expr(collection, '_next') }}) as _next_mark,
        if(_change = 'none', null, {{ trueup._order_mark_expr(collection, before) }}) as _old_mark
    from decided

),

entries as ( -- and what the batch before left in each bucket

    select
        bucket,
        coalesce(_commands, 0) as commands,
        coalesce(_commands, 0) - int(_verdict in ('taken', 'tie') and _commands > 0)
            {{- ' - coalesce(_unordered, 0)' if plan.has_unordered }} as superseded,
        {%- for name, condition in counts.items() %}
        int(_is_changed and {{ condition }}){{ ' + int(_opened = 1)' if name == 'error_inserts' }}{{ ' + int(_opened = -1)' if name == 'error_retractions' }} as {{ name }},
        {%- endfor %}
        int(_change = 'renewed') as renewed,
        _opened as order_errors,
        if(_is_changed, int({{ is_ }}) + int({{ was }}), 0) + abs(_opened) as update_count,
        {%- for half in ['low', 'high'] %}
        if(_is_changed, {{ trueup._half_expr('_added', half, is_) }} + {{ trueup._half_expr('_retracted', half, was) }}, 0)
            + if(_opened = 0, 0, {{ trueup._half_expr('xxhash64(_order_digest, _opened' ~ at ~ ')', half) }}) as update_{{ half }},
        {%- endfor %}
        {%- if has_causes %}
        int(_is_changed and {{ cause }} is not null) as corrections,
        {%- endif %}
        {%- if plan.ticks %}
        {{ trueup._late_of_row_expr(collection, plan) }} as late,
        int(_tick <=> _first_changed and {{ was }}) as replaced,
        {%- endif %}
        {%- if plan.forgotten %}
        int(coalesce(
            _change = 'inserted' and _old is null and _next._order <= {{ trueup._order_from_json_expr(collection, plan.forgotten) }}, false
        )) as unprovable,
        {%- endif %}
        {%- if trueup._has_times_as_order(collection) %}
        int(_change <> 'none' and coalesce({{ trueup._is_ahead_expr(collection, '_next._order') }}, false)) as ahead,
        {%- endif %}
        if(_is_changed, if({{ is_ }}, _added, 0) ^ if({{ was }}, _retracted, 0), 0)
            ^ if(_opened = 0, 0, xxhash64(_order_digest, _opened{{ at }})) as update_mix,
        if(_is_changed, xxhash64(bucket, {{ before }}._digest, 0, _next._digest), 0) as plan,
        int({{ is_ }}) - int({{ was }}) + _opened as n,
        coalesce(_next._length, 0) - coalesce({{ before }}._length, 0) + _opened * {{ order_length }} as length,
        {%- for half in ['low', 'high'] %}
        {{ trueup._half_expr('_next._digest', half) }} - {{ trueup._half_expr(before ~ '._digest', half) }}
            + _opened * {{ trueup._half_expr('_order_digest', half) }} as {{ half }},
        {%- endfor %}
        coalesce(_next._digest, 0) ^ coalesce({{ before }}._digest, 0) ^ if(_opened = 0, 0, _order_digest) as mix,
        int(_next_mark is not null) - int(_old_mark is not null) as orders,
        {%- for half in ['low', 'high'] %}
        {{ trueup._half_expr('_next_mark', half) }} - {{ trueup._half_expr('_old_mark', half) }} as order_{{ half }},
        {%- endfor %}
        coalesce(_next_mark, 0) ^ coalesce(_old_mark, 0) as order_mix
    from changed

    union all

    select
        bucket, {% for _ in sums %}0, {% endfor %}0, 0, n, length, low, high, mix, orders, order_low, order_high, order_mix
    from (select inline(_before.certificate) from before)

),

buckets as (

    select
        bucket,
        {%- for name in sums + certified %}
        sum({{ name }}) as {{ name }},
        {%- endfor %}
        {%- for name in mixed + ['update_mix', 'plan'] %}
        bit_xor({{ name }}) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from entries
    group by bucket

),

totals as (

    select
        {%- for name in sums %}
        coalesce(sum({{ name }}), 0) as {{ name }},
        {%- endfor %}
        coalesce(bit_xor(update_mix), 0) as update_mix,
        concat('plan-', lower(lpad(hex(coalesce(bit_xor(plan), 0)), 16, '0'))) as plan,
        coalesce(sum(n), 0) as records_indexed,
        coalesce(sum(length), 0) as bytes_indexed,
        array_sort(collect_list(
            struct(bucket, n, length, low, high, mix, orders, order_low, order_high, order_mix)
        ) filter (where n <> 0 or orders <> 0)) as certificate
    from buckets

),

written as (

    select
        *,
        {{ 'replaced' if plan.ticks else 'deletes + updates + error_retractions' }} as retractions,
        records_indexed - inserts + deletes - error_inserts + error_retractions as records_before,
        xxhash64({{ plan.seq }}L, {{ plan.ts }}L, update_count, update_low, update_high, update_mix) as _batch_mark
    from totals
    cross join before

),

batch as (

    select {{ trueup._guarded_batch_expr(collection, plan) }} as _batch
    from (
        select
            *,
            concat({{ trueup._literal(tojson(plan.notes)[:-1] ~ ', ') }}, substr(to_json(struct(
                plan,
                struct(
                    commands{{ ' + _truncates_read' if plan.new_truncates }}{{ ' + ' ~ plan.again if plan.again }} as messages_received,
                    update_count as updates_committed,
                    inserts, updates, deletes, retractions, error_inserts, error_retractions,
                    superseded{{ ' + ' ~ plan.again ~ ' as superseded' if plan.again }}, ties, renewed,
                    {%- if has_causes %}
                    corrections,
                    {%- endif %}
                    {%- if collection.has_place %}
                    cast({{ (plan.notes.places | sum(attribute='next')) if plan.notes.places else 'null' }} as bigint) as offset_committed,
                    {#- Another code, a slice and a tick read messages again without a replay. #}
                    {%- if not (plan.cause or plan.is_sliced or plan.ticks) %}
                    greatest({{ plan.replayed or 0 }} - superseded{{ ' - ' ~ plan.again if plan.again }}, 0) as below_places,
                    {%- endif %}
                    {%- endif %}
                    {%- if plan.ticks %}
                    late + {{ plan.ticks.dropped }} as late_dropped,
                    {%- endif %}
                    {%- if plan.forgotten %}
                    unprovable,
                    {%- endif %}
                    {%- if trueup._has_times_as_order(collection) %}
                    ahead,
                    {%- endif %}
                    records_indexed, bytes_indexed
                ) as statistics,
                {%- if plan.has_truncates %}
                {%- if collection.options.truncate_scope %}
                transform(map_entries(_bounds), each -> struct(
                    each.key as scope, {{ trueup._exact_json_expr('each.value._truncated') }} as text
                )) as truncated,
                {%- else %}
                {{ trueup._exact_json_expr('_truncated') }} as truncated,
                {%- endif %}
                {%- endif %}
                coalesce(_before.order_errors, 0) + order_errors as order_errors,
                struct(
                    coalesce(_before.history.n, 0) + update_count as n,
                    coalesce(_before.history.low, 0) + {{ trueup._half_expr('_batch_mark', 'low') }} as low,
                    coalesce(_before.history.high, 0) + {{ trueup._half_expr('_batch_mark', 'high') }} as high,
                    coalesce(_before.history.mix, 0) ^ _batch_mark as mix
                ) as history,
                certificate
            )), 2)) as _text
        from written
        {%- if plan.has_truncates %}
        cross join bound
        {%- endif %}
    )

)
{%- endmacro %}


{#-
    The text of the batch row, as an expression that raises if an option forbids the batch. A dry run is only told.
-#}
{% macro _guarded_batch_expr(collection, plan) -%}
    {%- set options, approved = collection.options, trueup._var('trueup_approve') -%}
    {%- set approved = none if approved == 'orders' or plan.is_after_approved else approved -%}
    {%- set limit, earlier = options.max_retractions, plan.earlier -%}
    {%- set retractions = 'retractions + ' ~ earlier.retractions if earlier else 'retractions' -%}
    {%- set records = earlier.records if earlier else 'records_before' -%}
    {%- set run, name = 'dbt run -s ' ~ collection.name ~ ' --vars ', collection.name -%}
    {%- set approve = trueup._literal("To approve them: " ~ run ~ "'{trueup_approve: ") ~ ", plan, " ~ trueup._literal("}'") -%}
    {%- set see = trueup._literal("Nothing is written. To see the changes: " ~ run ~ "'{trueup_read_only: true}'. ") -%}
    {%- set refusals = [] -%}
    {%- if options.errors == 'fail' -%}
        {%- do refusals.append({
            'when': 'error_inserts > 0', 'must': 'without errors (option `errors: fail`)', 'got': "error_inserts, ' errors'",
            'next': "'Nothing is written. Correct the commands, or set the option to keep and read the errors as rows.'",
        }) -%}
    {%- endif -%}
    {%- if options.ties == 'fail' -%}
        {%- do refusals.append({
            'when': 'ties > 0', 'must': 'without two commands of one key and order (option `ties: fail`)', 'got': "ties, ' ties'",
            'next': "'Nothing is written. Add a column to `sequence_by` that says which of the two is newer.'",
        }) -%}
    {%- endif -%}
    {%- if options.late == 'fail' and plan.ticks -%}
        {%- do refusals.append({
            'when': 'late + ' ~ plan.ticks.dropped ~ ' > 0', 'must': 'without late commands (option `late: fail`)',
            'got': "late + " ~ plan.ticks.dropped ~ ", ' commands of ticks below ', " ~ plan.ticks.lower,
            'next': "'Nothing is written. Take the commands out of the log, or set the option to newest or drop.'",
        }) -%}
    {%- endif -%}
    {%- if not approved and limit is not none -%}
        {%- do refusals.append({
            'when': retractions ~ ' > ' ~ (records ~ ' * ' ~ limit if limit is float else limit),
            'must': 'one that retracts at most ' ~ limit ~ (' of all rows ' if limit is float else ' rows ') ~ trueup._max_retractions_text(),
            'got': retractions ~ ", ' of ', " ~ records ~ ", ' rows'", 'next': see ~ ', ' ~ approve,
        }) -%}
    {%- endif -%}
    {%- if not approved and not collection.is_log -%}
        {%- do refusals.append({
            'when': 'records_before > 0 and records_indexed = 0', 'must': 'one that keeps some rows',
            'got': "'a SELECT without a row, which would remove all ', records_before, ' rows'", 'next': see ~ ', ' ~ approve,
        }) -%}
    {%- endif -%}
    {%- if plan.is_dry or not refusals and not approved -%}
        {{ return('_text') }}
    {%- endif -%}
case
        {%- if approved %}
        when plan <> {{ trueup._literal(approved) }} then raise_error(concat(
            'Var `trueup_approve` must be the plan of the changes of {{ collection.name }}.\nGot: ', {{ trueup._literal(approved) }},
            '; the changes are now ', plan, '\nNothing is written. Look at them, and approve them anew.'
        ))
        {%- endif %}
        {%- for refusal in refusals %}
        when {{ refusal.when }} then raise_error(concat(
            {{ trueup._literal('The batch of ' ~ collection.name ~ ' must be ' ~ refusal.must ~ '.\nGot: ') }}, {{ refusal.got }}, '\n',
            {{ refusal.next }}
        ))
        {%- endfor %}
        else _text
    end
{%- endmacro %}


{#- The batch row before this batch, as a select of its text. It raises if that row is not there. -#}
{% macro _previous_batch_select(collection, plan) -%}
    {%- if not collection.has_store -%}
        {{ return("select '{}' as _batch") }}
    {%- endif -%}
    {{ return(trueup._unmoved_batch_select(collection, collection.store, plan.seq - 1, plan.notes.base)) }}
{%- endmacro %}


{#- The words by which `trueup_health` knows the error of the breaker. -#}
{% macro _max_retractions_text() -%}
    {{ return('(option `max_retractions`)') }}
{%- endmacro %}
