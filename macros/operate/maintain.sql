{#-
    Keeps the store of a collection small: it rewrites small files, and lets old snapshots expire. No row changes. It keeps the
    snapshot of the newest batch, from which a run repairs a damaged history, and all after it. Each statement may be killed or
    repeated. Files that belong to no snapshot are left to the user (`remove_orphan_files` of Iceberg).

    An operation: `dbt run-operation trueup.maintain --args '{collection: orders}'`.
-#}
{% macro maintain(collection, retain_hours=24, retain_last=10) -%}
    {%- for name, value in {'retain_hours': retain_hours, 'retain_last': retain_last}.items() -%}
        {%- if value is not integer or not (0 if name == 'retain_hours' else 1) <= value <= 100000 -%}
            {%- do trueup._raise_error(
                trueup._argument('maintain', name), 'an integer from ' ~ (0 if name == 'retain_hours' else 1) ~ ' to 100000', value,
                'Nothing is done. Call it again with such a number, or leave the argument out.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set found = trueup._get_operated_store('maintain', collection) -%}
    {%- set store = found.collection.store -%}
    {%- if trueup._is_delta(found.properties) -%}
        {%- do run_query('optimize ' ~ trueup._in_backquotes(store)) -%}
        {%- do run_query('vacuum ' ~ trueup._in_backquotes(store)) -%}
        {%- do log('Maintained ' ~ store ~ '. Delta keeps files for the time that the table is set to.', info=true) -%}
    {%- else -%}
        {%- set before = run_query(trueup._store_size_select(store)).rows[0] -%}
        {%- set catalog = trueup._get_catalog(store) -%}
        {%- do run_query(trueup._rewrite_files_sql(store, catalog)) -%}
        {%- set until = trueup._get_time_to_expire(found, retain_hours) -%}
        {%- if until is not none -%}
            {%- do run_query(trueup._expire_snapshots_sql(store, catalog, until, retain_last)) -%}
        {%- endif -%}
        {%- set after = run_query(trueup._store_size_select(store)).rows[0] -%}
        {%- do log(
            'Maintained ' ~ store ~ ': files ' ~ before[0] ~ ' -> ' ~ after[0] ~ ', delete files ' ~ before[1] ~ ' -> ' ~ after[1]
            ~ ', snapshots ' ~ before[2] ~ ' -> ' ~ after[2] ~ ('' if until is not none else
            '. No snapshot expired, because that of batch ' ~ found.newest.seq ~ ' is not found: run the model once'), info=true
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    The time before which snapshots may expire, as a literal: `retain_hours` ago, but not after the newest batch. None if the
    snapshot of that batch is not found.
-#}
{% macro _get_time_to_expire(found, retain_hours) -%}
    {%- set own = trueup._get_last_own_snapshot(found.collection, found.newest, found.properties) -%}
    {%- if own is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set now = modules.datetime.datetime.now(modules.pytz.utc) -%}
    {%- set then = (now - modules.datetime.timedelta(hours=retain_hours)).strftime('%Y-%m-%d %H:%M:%S.%f') -%}
    {%- set least = "least(committed_at, timestamp '" ~ then ~ "+00:00')" -%}
    {%- set found_time = run_query(
        'select date_format(' ~ least ~ ", 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX') from " ~ found.collection.store
        ~ '.snapshots where snapshot_id = ' ~ own
    ).rows[0][0] -%}
    {{ return("timestamp '" ~ found_time ~ "'") }}
{%- endmacro %}


{#- The size of a store, as a select of one row: data files, delete files and snapshots. -#}
{% macro _store_size_select(store) -%}
select count_if(content = 0), count_if(content <> 0), (select count(*) from {{ store }}.snapshots)
from {{ store }}.files
{%- endmacro %}


{#-
    The statement that rewrites small files. With partial progress a part that loses to another commit is dropped, and the
    statement does not fail.
-#}
{% macro _rewrite_files_sql(store, catalog) -%}
{{ trueup._step_marker('alter') }}
call {{ trueup._quoted(catalog) }}.system.rewrite_data_files(
    table => {{ trueup._literal(store) }},
    options => map('partial-progress.enabled', 'true', 'delete-file-threshold', '1')
)
{%- endmacro %}


{#- The statement that lets snapshots before a time expire. -#}
{% macro _expire_snapshots_sql(store, catalog, until, retain_last) -%}
{{ trueup._step_marker('alter') }}
call {{ trueup._quoted(catalog) }}.system.expire_snapshots(
    table => {{ trueup._literal(store) }}, older_than => {{ until }}, retain_last => {{ retain_last }}
)
{%- endmacro %}


{#- The catalog of a table. -#}
{% macro _get_catalog(store) -%}
    {#- A column of the table may also be called `Name`. The details of the table come last. -#}
    {%- set found = {} -%}
    {%- for row in run_query('describe table extended ' ~ store).rows -%}
        {%- do found.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{ return(found.get('Name', '').split('.')[0]) }}
{%- endmacro %}
