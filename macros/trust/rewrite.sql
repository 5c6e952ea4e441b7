{#- Commits of ours that rewrite a store, and do not read its log. -#}

{#-
    A commit of ours that rewrites a store, as one MERGE: it removes the rows for which `change.removed` holds, inserts those
    of the select `change.added`, and writes a batch row. Its certificate and its sums of the history are those of the store as
    it will be, so verification needs to know nothing of such a commit. See docs/decisions/0027.

    `notes` are those of the batch row. The statement writes nothing if the store has moved since the look.
-#}
{% macro _rewrite_sql(collection, newest, change, notes) -%}
    {%- set names = trueup._column_list(trueup._store_names(collection)) -%}
{{ trueup._step_marker('commit') }}
merge into {{ collection.store }} as store
using (
    with

    added as (

        {{ change.added or 'select * from ' ~ collection.store ~ ' where false' }}

    ),

    stored as ( -- the store as it will be, without the new batch row

        select {{ names }} from {{ collection.store }} where not ({{ change.removed }})
        union all
        select {{ names }} from added

    ),

    {{ trueup._store_sums_ctes(collection) }},

    {#- By joins, because Delta cannot read the target of a MERGE in a subquery. -#}
    open as (

        select count(*) as order_errors from rows where _kind = 'error' and _error_kind = 'order'

    ),

    certified as (

        select array_sort(collect_list(struct(bucket, {{ trueup._certificate_sums() | join(', ') }}))) as certificate
        from found
        where n <> 0 or orders <> 0

    ),

    unmoved as (

        {{ trueup._unmoved_batch_select(collection, collection.store, newest.seq, notes.base) | indent(8) }}

    ),

    batch as (

        select concat({{ trueup._literal(tojson(notes)[:-1] ~ ', ') }}, substr(to_json(struct(
            order_errors, struct(n, low, high, mix) as history, certificate
        )), 2)) as _text
        from history
        cross join open
        cross join certified
        cross join unmoved
        where unmoved._batch is not null

    )

    select {{ names }} from added
    union all
    select
        {{ trueup._empty_store_items(collection, {
            '_kind': "'batch'", '_seq': newest.seq + 1, '_ts': newest.ts if collection.has_ticks else newest.ts + 1, '_batch': '_text',
        }) | indent(4) }}
    from batch
) as repaired
    on store._kind = 'batch' and repaired._kind = 'batch' and store._seq = repaired._seq
    and repaired._seq = {{ newest.seq + 1 }}
{{ trueup._repair_clauses(collection, newest, '(' ~ change.removed ~ ')') }}
{%- endmacro %}


{#- Carries out such a commit. Raises if another run was first: then nothing is written. -#}
{% macro _ensure_rewritten(found, change, words, notes) -%}
    {%- set all_notes = dict(
        trueup._get_repair_notes(found.collection, found.newest, found.properties, words), **notes
    ) -%}
    {%- do run_query(trueup._rewrite_sql(found.collection, found.newest, change, all_notes)) -%}
    {%- do trueup._require_written(found) -%}
{%- endmacro %}


{#- Raises unless the newest batch is the one that this operation wanted to write. -#}
{% macro _require_written(found) -%}
    {%- set now = trueup._get_newest_batch(found.collection) -%}
    {%- if now.get('run') != invocation_id or now.seq != found.newest.seq + 1 -%}
        {%- do exceptions.raise_compiler_error(
            'upper mismatch: another run has written batch ' ~ now.seq ~ ' of ' ~ found.collection.store
            ~ '; nothing of this one is written; run again'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Forgets tombstones that are older than the option `tombstones` allows, after a batch. It happens once in each tenth of that
    age. The batch row keeps the greatest order of those that were forgotten: nobody can know then whether an older upsert of
    such a key would have been superseded. Returns what was done, in words; none if nothing was.
-#}
{% macro _ensure_tombstones_forgotten(collection) -%}
    {%- set age = trueup._tombstone_ticks(collection) -%}
    {%- set newest = trueup._get_newest_batch(collection) if age else {} -%}
    {%- if not age or newest.get('forgotten_at') is not none and newest.ts - newest.forgotten_at < age / 10 -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set is_old = "_kind = 'tombstone' and _ts < " ~ trueup._bigint((newest.ts - age) | int) -%}
    {%- set found = run_query(
        trueup._step_marker('check') ~ 'select count(*) as tombstones, '
        ~ trueup._exact_json_expr('greatest(max(_order), any_value(' ~ trueup._order_from_json_expr(collection, newest.get('forgotten'))
        ~ '))') ~ ' as forgotten from ' ~ trueup._stored_relation(collection) ~ ' where ' ~ is_old
    ).rows[0].dict() -%}
    {%- if not found.tombstones -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set properties = trueup._get_properties(collection.store) -%}
    {%- set notes = dict(
        trueup._get_repair_notes(collection, newest, properties, 'forgot'), forgotten=found.forgotten, forgotten_at=newest.ts
    ) -%}
    {%- do run_query(trueup._rewrite_sql(collection, newest, {'removed': is_old}, notes)) -%}
    {#- If another run was first, nothing is forgotten now. The next run tries again. -#}
    {%- set now = trueup._get_newest_batch(collection, up_to=newest.seq + 1) -%}
    {{ return(found.tombstones ~ ' tombstones forgotten' if now.get('run') == invocation_id and now.seq > newest.seq else none) }}
{%- endmacro %}


{#-
    The option `tombstones` in ticks; none for forever. Without ticks of the log a tick is a millisecond. A tick of a log that is
    a timestamp is a microsecond.
-#}
{% macro _tombstone_ticks(collection) -%}
    {%- set age = collection.options.tombstones if collection.is_log else 'forever' -%}
    {%- if age == 'forever' or age is integer -%}
        {{ return(none if age == 'forever' else age) }}
    {%- endif -%}
    {{ return(trueup._interval_milliseconds(age) * (1000 if collection.has_ticks else 1)) }}
{%- endmacro %}
