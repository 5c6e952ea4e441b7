{#- The store of a collection for operations, which belong to no model. -#}

{#-
    The store of the model with a name, as a dict: the `collection`, the `newest` batch and the `properties`. Raises if there
    is none, or if it is the store of another model.
-#}
{% macro _get_operated_store(macro, name) -%}
    {%- set node = trueup._node_of_collection(macro, name) -%}
    {%- set store = trueup._store_of(trueup._relation_of_node(node)) -%}
    {%- if load_relation(store) is none -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, 'collection'), 'the name of a collection that has run', name ~ ', without the table ' ~ store,
            'Nothing is done. Correct the name, or run: dbt run -s ' ~ name ~ '.'
        ) -%}
    {%- endif -%}
    {%- set collection = trueup._get_collection_of_store(store, node) -%}
    {#- The batch before the snapshot, as in a run. -#}
    {%- set newest = trueup._get_newest_batch(collection) -%}
    {%- set properties = trueup._get_isolated_properties(store) -%}
    {%- do trueup._require_owner(store, properties, node.unique_id) -%}
    {%- set collection = dict(collection, has_ticks='upper' in newest) -%}
    {{ return({'collection': collection, 'newest': newest, 'properties': properties}) }}
{%- endmacro %}


{#- The same, and it raises unless the rows and the history are as the newest batch has left them. -#}
{% macro _get_sound_store(macro, name) -%}
    {%- set found = trueup._get_operated_store(macro, name) -%}
    {%- set damage = trueup._get_damage(found.collection, found.collection.store, found.newest) -%}
    {%- if damage.history or damage.buckets -%}
        {%- do trueup._raise_error(
            'The store ' ~ found.collection.store, 'as batch ' ~ found.newest.seq ~ ' has left it', 'other rows',
            'Nothing is done. Let a run repair it first: dbt run -s ' ~ name ~ '.'
        ) -%}
    {%- endif -%}
    {{ return(found) }}
{%- endmacro %}


{#- The only model with a name and the materialization `trueup`. Otherwise it raises an error for the argument of `macro`. -#}
{% macro _node_of_collection(macro, name) -%}
    {%- set named = graph.nodes.values() | selectattr('resource_type', 'eq', 'model') | selectattr('name', 'eq', name) | list -%}
    {%- set found = named | selectattr('package_name', 'eq', project_name) | list or named -%}
    {%- if found | length != 1 or found[0].config.materialized != 'trueup' -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, 'collection'), 'the name of one model with the materialization `trueup`',
            name ~ (': ' ~ found | length ~ ' models' if found | length != 1 else ', a ' ~ found[0].config.materialized),
            'Nothing is done. `dbt ls -s config.materialized:trueup` lists them.'
        ) -%}
    {%- endif -%}
    {{ return(found[0]) }}
{%- endmacro %}


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
