{#-
    What people read besides the rows: the changelog, the errors and the past of a collection. Each is a select over the
    store, which is found by the relation of the collection, so it follows aliases, schemas and `--defer`.
-#}

{#- The store of a collection in a model that reads it. While dbt parses, the collection may have no name yet. -#}
{% macro _store_read_by_model(relation) -%}
    {{ return(trueup._store_of(relation) if execute else relation) }}
{%- endmacro %}


{#- The columns of the store that are neither keys nor values. -#}
{% macro _store_column_names() -%}
    {{ return([
        '_kind', '_seq', '_ts', '_diff', '_cause', '_error_kind', '_error_key', '_error', '_order', '_digest', '_length',
        '_delete_order', '_orders', '_batch'
    ]) }}
{%- endmacro %}


{#- The updates of a collection, one row each: its key and value columns, and what happened when and why. -#}
{% macro _changelog_select(collection) -%}
select
    {{ trueup._all_but_list(trueup._store_column_names()) }},
    _error,
    _error_key,
    _ts,
    _diff,
    _cause,
    _seq
from {{ trueup._store_read_by_model(collection) }}
where _kind = 'update'
{%- endmacro %}


{#- The keys of a collection that are broken now, one row each, with the kind of error and since when. -#}
{% macro _errors_select(collection) -%}
select
    {{ trueup._all_but_list(trueup._store_column_names()) }},
    _error_key,
    _error,
    if(_error_kind = 'origin', 'order', _error_kind) as _error_kind,
    _ts
from {{ trueup._store_read_by_model(collection) }}
where _kind = 'error'
{%- endmacro %}


{#-
    The rows of a collection as they were at the end of the tick `to_ts`; with `from_ts` the changes after that tick, with
    their `_diff`. Raises for a tick that nobody can read: null, after the newest batch, or before a compaction.
-#}
{% macro _rows_between_select(collection, to_ts, from_ts=none) -%}
    {%- set store = trueup._store_read_by_model(collection) -%}
    {%- set no_tick = "raise_error('A tick of " ~ collection ~ " must be a number.\\nGot: null')" -%}
    {%- set ticks = [to_ts] + ([from_ts] if from_ts is not none else []) -%}
with

consolidated as (

    select {{ trueup._all_but_list(trueup._store_column_names()) }}, sum(_diff) as _diff
    from {{ store }}
    where
        _kind = 'update'
        and _error_kind is null
        and _ts <= coalesce({{ to_ts }}, {{ no_tick }})
        {%- if from_ts is not none %}
        and _ts > coalesce({{ from_ts }}, {{ no_tick }})
        {%- endif %}
        and ( -- computed once, also if no update is left
            select case
                {%- for ts in ticks %}
                when {{ ts }} > max(_ts) then raise_error(concat(
                    'A tick of {{ collection }} must be one that has been read: at most ', max(_ts), '.\nGot: ', {{ ts }}
                ))
                when {{ ts }} < max({{ trueup._compacted_expr() }}) then raise_error(concat(
                    'A tick of {{ collection }} must be one that is not compacted: at least ',
                    max({{ trueup._compacted_expr() }}), '.\nGot: ', {{ ts }}
                ))
                {%- endfor %}
                {%- if from_ts is not none %}
                when {{ from_ts }} > {{ to_ts }} then raise_error(concat(
                    'The first tick of {{ collection }} must be at most the second.\nGot: ', {{ from_ts }}, ' and ', {{ to_ts }}
                ))
                {%- endif %}
                else true
            end
            from {{ store }}
            where _kind = 'batch'
        )
    group by all

)

select {{ '* except (_diff)' if from_ts is none else '*' }}
from consolidated
where _diff {{ '> 0' if from_ts is none else '<> 0' }}
{%- endmacro %}


{#- Of batch rows: the hashes of all keys that were erased, as an array. -#}
{% macro _erased_expr() -%}
flatten(collect_list(from_json(get_json_object(_batch, '$.erased'), 'array<string>')))
{%- endmacro %}


{#- Of a batch row: the tick below which it has forgotten the history; null if it has not. -#}
{% macro _compacted_expr() -%}
    {{ return("cast(get_json_object(_batch, '$.compacted') as bigint)") }}
{%- endmacro %}


{#-
    The versions of the rows of a collection. `version` holds the key and value columns as one struct, so no name within this
    query can meet one of a user. A version is valid while the diffs of its content sum to 1.
-#}
{% macro _versions_select(collection) -%}
    {%- set store = trueup._store_read_by_model(collection) -%}
with

changes as ( -- a correction may write into a tick that has updates already

    select
        struct({{ trueup._all_but_list(trueup._store_column_names()) }}) as version,
        _ts as valid_from,
        sum(_diff) as diff
    from {{ store }}
    where
        _kind = 'update'
        and _error_kind is null
        -- Rows of ticks that are not settled may still change.
        and _ts <= (select max(_ts) from {{ store }} where _kind = 'batch')
    group by all
    having sum(_diff) <> 0

),

bounded as (

    select *, lead(valid_from) over (partition by version order by valid_from) as valid_to
    from changes

)

select version.*, valid_from, valid_to, valid_to is null as is_current
from bounded
where diff > 0
{%- endmacro %}


{#-
    The rows that commands give in a unit test, by plain SQL: of each key the newest command, unless it is a delete, an error,
    a tie or below a truncate. Columns that a command leaves unchanged are refused, because a single SELECT cannot name them.
-#}
{% macro _newest_rows_select(commands, key) -%}
    {%- if ' as _unchanged' in commands or ' as _old_key' in commands -%}
        {%- do trueup._raise_error(
            trueup._argument('newest', 'commands'), 'a log of whole commands without changes of key',
            'a log with unchanged columns or old keys',
            'Let the unit test expect commands: leave out `trueup.newest`.'
        ) -%}
    {%- endif -%}
    {%- set own = ['_order', '_op', '_error', '_error_key'] + (['_place'] if ' as _place' in commands else []) -%}
    {%- set content = "if(_op = 'delete', null, " ~ trueup._exact_json_expr('struct(' ~ trueup._all_but_list(own) ~ ', _error)') ~ ')' -%}
with

commands as (

    {{ commands }}

),

ordered as (

    select * from commands where _order._1 is not null

),

ranked as (

    select
        *,
        row_number() over (partition by {{ trueup._column_list(key) }}, _error_key order by _order desc) as _rank,
        min(_content) over (partition by {{ trueup._column_list(key) }}, _error_key, _order) <=> max(_content) over (
            partition by {{ trueup._column_list(key) }}, _error_key, _order
        ) and min(_op) over (partition by {{ trueup._column_list(key) }}, _error_key, _order) = max(_op) over (
            partition by {{ trueup._column_list(key) }}, _error_key, _order
        ) as _is_alone
    from (select *, {{ content }} as _content from ordered where _op <> 'truncate')

)

select {{ trueup._all_but_list(own + ['_rank', '_is_alone', '_content']) }}
from ranked
where
    _rank = 1
    and _is_alone
    and _op = 'upsert'
    and _error is null
    and _error_key is null
    and not exists (
        select 1 from ordered as truncates
        where truncates._op = 'truncate' and ranked._order < truncates._order
        {%- for name in trueup._names(trueup._given_options(config.get('meta')).get('truncate_scope')) %}
            and ranked.{{ trueup._quoted(name) }} = truncates.{{ trueup._quoted(name) }}
        {%- endfor %}
    )
{%- endmacro %}


{#- The relation of a node of the graph. -#}
{% macro _relation_of_node(node) -%}
    {{ return(api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias, type='view')) }}
{%- endmacro %}


{#-
    A collection as its store and its newest batch have it: the fields of `definition.sql` that reading, verifying and repairing
    need, and the `newest` batch. `key` is the one of its model; without it, that of the batch.
-#}
{% macro _get_stored_collection(view, store=none, key=none) -%}
    {%- set store = store or trueup._store_of(view) -%}
    {%- set newest = trueup._get_newest_batch({'store': store, 'has_store': true}) -%}
    {%- set columns = trueup._get_columns('select * from ' ~ store) | rejectattr('name', 'in', trueup._store_column_names()) | list -%}
    {#- A store without a batch has no rows, so any key will do. -#}
    {%- set key = key or (newest.order[:-1] if newest.get('order') else [columns[0].name]) -%}
    {{ return({
        'name': view.identifier,
        'view': view,
        'store': store,
        'newest': newest,
        'key': key,
        'value_names': columns | map(attribute='name') | reject('in', key) | list,
        'columns': columns,
        'texts': trueup._noted_text_types(columns, newest.get('columns')),
        'is_log': true,
        'has_ticks': 'upper' in newest,
        'order_type': newest.order_type,
        'has_store': true,
    }) }}
{%- endmacro %}


{#- The same of a model in the graph, with the options that decide what its rows are. -#}
{% macro _get_collection_of_store(store, node) -%}
    {%- set given = trueup._given_options(node.config.meta) -%}
    {{ return(dict(
        trueup._get_stored_collection(trueup._relation_of_node(node), store, trueup._names(node.config.unique_key)),
        name=node.name, options={
            'errors': 'keep', 'max_retractions': none, 'on_conflict': 'fail', 'ties': given.get('ties', 'error'),
            'late': given.get('late', 'newest'), 'truncate_scope': trueup._names(given.get('truncate_scope')),
        }
    )) }}
{%- endmacro %}


{#- Raises if a store is that of another model. -#}
{% macro _require_owner(store, properties, owner) -%}
    {%- if properties.get('trueup.owner') != owner -%}
        {%- do trueup._raise_error(
            'The store ' ~ store, 'the one of ' ~ owner, 'the one of ' ~ properties.get('trueup.owner', 'somebody else'),
            'Nothing is done. If the model was renamed, hand the store over with `dbt run-operation trueup.rename`.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
