{#- What `trueup report` shows of a collection. Python asks for one select, and makes the page of it. -#}

{#-
    A select of everything that the report shows of a collection. `part` says what a row is about; `value` is the row in
    JSON. Without a store it has only the part `health`. `limits` keep the answer small: `recent` batches one by one, all
    batches before them in `older` groups, and at most `rows` errors.
-#}
{% macro _get_report_select(name, limits) -%}
    {%- set relation = trueup._collection_relation('report', name) -%}
    {%- set store = load_relation(trueup._store_of(relation)) if execute else none -%}
    {%- set stores = {name: store} if store else {} -%}
    {%- set statistics = trueup._subquery(trueup._statistics_select(trueup._subquery(trueup._batches_select(stores)))) -%}
    {%- set lag = trueup._subquery(trueup._lag_select(statistics, trueup._get_monitored_logs(stores))) -%}
    {%- set parts = {'health': trueup._health_select([name], stores, statistics, lag)} -%}
    {%- if store -%}
        {%- set collection = trueup._get_stored_collection(relation) -%}
        {%- do parts.update({
            'collection': trueup._collection_facts_select(collection),
            'batch': trueup._batch_groups_select(stores, trueup._batch_group_expr(collection.newest.seq, limits)),
            'error': trueup._open_errors_select(collection, limits.rows),
            'bucket': trueup._certified_buckets_select(store),
            'damage': trueup._damage_select(collection, store, collection.newest),
        }) -%}
    {%- endif -%}
    {%- set selects = [] -%}
    {%- for part, select in parts.items() -%}
        {%- do selects.append(trueup._part_select(part, select)) -%}
    {%- endfor -%}
    {{ return(selects | join('\nunion all\n')) }}
{%- endmacro %}


{#- The rows of a select as a part of the report. Numbers keep all digits, and a null stays in the JSON. -#}
{% macro _part_select(part, select) -%}
select '{{ part }}' as part, to_json(struct(*), map('ignoreNullFields', 'false')) as value
from (
    {{ select }}
)
{%- endmacro %}


{#- One row: the key, the rows, and the open errors by kind. -#}
{% macro _collection_facts_select(collection) -%}
select
    array({{ trueup._literal_list(collection.key) }}) as key,
    coalesce(sum(number) filter (where kind is null), 0) as rows,
    coalesce(map_from_entries(collect_list(struct(kind, number)) filter (where kind is not null)), map()) as error_kinds
from (
    select if(_error_kind = 'origin', 'order', _error_kind) as kind, count(*) as number
    from {{ collection.store }}
    where _kind in ('row', 'error')
    group by 1
)
{%- endmacro %}


{#-
    The group of a batch, as an SQL expression. Each of the recent batches is a group of its own; all batches before them
    make a fixed number of groups.
-#}
{% macro _batch_group_expr(last_seq, limits) -%}
    {%- set older = last_seq - limits.recent -%}
    {{ return(
        'batch' if older <= 0
        else 'if(batch > ' ~ older ~ ', batch, -1 - (batch - 1) * ' ~ limits.older ~ ' div ' ~ older ~ ')'
    ) }}
{%- endmacro %}


{#- The batches of each group, with the sums of their counts. -#}
{% macro _batch_groups_select(stores, group) -%}
select
    min(batch) as first,
    max(batch) as last,
    count(*) as batches,
    unix_seconds(max(committed_at)) as committed_at,
    {% for name in trueup._statistic_names() -%}
    sum({{ name }}) as {{ name }},
    {% endfor -%}
    count(repair) as repairs,
    max_by(records_indexed, batch) as records_indexed
from {{ trueup._subquery(trueup._batches_select(stores)) }}
group by {{ group }}
{%- endmacro %}


{#-
    The newest open errors. A long text is cut: Python shows at most 200 characters of it (`SHOWN_LENGTH` of the module
    `dbt_trueup.report.mask`), and one more tells it that the text is longer.
-#}
{% macro _open_errors_select(collection, limit) -%}
select
    array({% for name in collection.key %}left(string({{ trueup._quoted(name) }}), 201){{ ', ' if not loop.last }}{% endfor %}) as key,
    left(_error_key, 201) as error_key,
    if(_error_kind = 'origin', 'order', _error_kind) as kind,
    left(_error, 201) as error,
    _ts as tick,
    _seq as batch
from {{ collection.store }}
where _kind = 'error'
order by _ts desc, _error_key, {{ trueup._column_list(collection.key) }}
limit {{ limit }}
{%- endmacro %}


{#- The rows and errors of each bucket, by the certificate of the newest batch. -#}
{% macro _certified_buckets_select(store) -%}
select bucket, n as rows
from (
    select inline(from_json(max_by(_batch, _seq), {{ trueup._literal(trueup._batch_type()) }}).certificate)
    from {{ store }}
    where _kind = 'batch'
)
{%- endmacro %}
