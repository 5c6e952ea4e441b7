{#- What `trueup report` shows of a collection. Python asks for one select, and makes the page of it. -#}

{#-
    A select of everything that the report shows of a collection. `part` says what a row is about; `value` is
    the row in JSON. A collection that has not run has only the part `collection`.

    `limits` keep the answer small: `recent` batches one by one, all batches before them in `older` groups,
    and at most `rows` rows in each list.
-#}
{% macro _get_report_select(collection, limits) -%}
    {%- set tables = trueup._get_report_tables(collection) -%}
    {%- if tables is none -%}
        {{ return(trueup._part_select('collection', 'select false as has_run')) }}
    {%- endif -%}
    {%- set last = trueup._get_last_batch(tables.changelog) -%}
    {%- set group = trueup._batch_group_expr(last.seq, limits) -%}
    {%- set parts = {
        'collection': trueup._collection_facts_select(tables, last),
        'batch': trueup._batch_groups_select(tables.changelog, group),
        'step': trueup._get_step_times_select(tables, group),
        'cause': trueup._cause_counts_select(tables, group),
        'error': trueup._open_errors_select(tables, limits.rows),
        'error_kind': trueup._error_kinds_select(tables.state),
        'bucket': trueup._get_certified_buckets_select(tables),
        'log': trueup._commands_ahead_select(tables, last.upper) if tables.commands else none,
        'correction': trueup._corrected_rows_select(tables, limits.rows) if tables.corrections else none,
    } -%}
    {%- set selects = [] -%}
    {%- for part, select in parts.items() if select -%}
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


{#-
    The tables of a collection by role, its `key`, and what `_input_of_collection` returns; none if it has not
    run. `corrections` is none if that table does not exist.
-#}
{% macro _get_report_tables(collection) -%}
    {%- set tables = dict(
        trueup._input_of_collection(collection),
        key=trueup._key_of_collection(collection), corrections=none
    ) -%}
    {%- for role in ['changelog', 'state'] -%}
        {%- do tables.update({
            role: trueup._named_relation(collection, collection ~ '_' ~ role, 'report')
        }) -%}
    {%- endfor -%}
    {%- if load_relation(tables.changelog) is none or load_relation(tables.state) is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do trueup._require_key_of_changelog(
        collection, tables.changelog, tables.key, trueup._get_properties(tables.changelog)
    ) -%}
    {%- for model in trueup._enabled_models(collection ~ '_corrections') -%}
        {%- do tables.update({'corrections': load_relation(trueup._relation_of_node(model))}) -%}
    {%- endfor -%}
    {{ return(tables) }}
{%- endmacro %}


{#-
    The last batch of the changelog, as a dict: its `seq`, 0 if there is none, and its `upper`. And
    `errors_of_a_day`: how many open errors were added in the last 24 hours, minus those that were removed.
-#}
{% macro _get_last_batch(changelog) -%}
    {%- set query -%}
select
    coalesce(max(_seq), 0) as seq,
    max_by(_upper, _seq) as upper,
    coalesce(sum(_statistics.error_inserts - _statistics.error_retractions) filter (
        where _statistics.committed_at >= current_timestamp() - interval 24 hours
    ), 0) as errors_of_a_day
from {{ changelog }}
where _kind = 'progress'
    {%- endset -%}
    {{ return(run_query(query).rows[0].dict()) }}
{%- endmacro %}


{#- One row: how far the collection is, and its numbers of rows and errors. -#}
{% macro _collection_facts_select(tables, last) -%}
select
    true as has_run,
    -- Read now, like the certificate and the state: another run may have appended since `last` was read.
    coalesce({{ trueup._last_seq_expr(tables.changelog) }}, 0) as batch,
    (select max_by(_upper, _seq) from {{ tables.changelog }} where _kind = 'progress') as frontier,
    array({{ trueup._literal_list(tables.key) }}) as key,
    {{ 'true' if tables.commands else 'false' }} as has_log,
    {{ last.errors_of_a_day }} as errors_of_a_day,
    max(_seq) filter (where _kind = 'progress') as applied_batch,
    count_if(_kind = 'row') as rows,
    count_if(_kind = 'error') as open_errors
from {{ tables.state }}
{%- endmacro %}
