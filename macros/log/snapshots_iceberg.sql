{#- The snapshots of an Iceberg table. Each names its parent. -#}

{#- The current snapshot, by the properties of the table. None for an empty table, and for any other format. -#}
{% macro _iceberg_snapshot(properties) -%}
    {%- set snapshot = properties.get('current-snapshot-id', 'none') -%}
    {{ return(
        snapshot if properties.get('format', '').startswith('iceberg/') and snapshot != 'none' else none
    ) }}
{%- endmacro %}


{#-
    The answer of `_get_commit_operations` for an Iceberg table. If the commits since then do not lead back to `first`,
    all commits of the table are asked: a branch or a staged snapshot that was published has the times at which it was
    written.
-#}
{% macro _get_iceberg_commit_operations(relation, first, last, since, through) -%}
    {%- set found = trueup._get_operations_on_path(trueup._commits_select(relation, since), first, last, through) -%}
    {{ return(
        trueup._get_operations_on_path(trueup._commits_select(relation), first, last, through) if found is none
        else found
    ) }}
{%- endmacro %}


{#- The same answer from the commits that a select gives. -#}
{% macro _get_operations_on_path(select, first, last, through) -%}
    {%- set commits = [] -%}
    {%- for row in run_query(select).rows -%}
        {%- do commits.append({'id': row[0], 'parent': row[1], 'operation': row[2]}) -%}
    {%- endfor -%}
    {{ return(trueup._operations_on_path(commits, first, last, through)) }}
{%- endmacro %}


{#- The same answer from a list of commits: `id`, `parent` and `operation`. -#}
{% macro _operations_on_path(commits, first, last, through) -%}
    {%- set listed, commits = commits, {} -%}
    {%- for commit in listed -%}
        {%- do commits.update({commit.id: commit}) -%}
    {%- endfor -%}
    {%- set operations, path = [], [last] -%}
    {%- for _ in commits if path[-1] in commits and path[-1] != first -%}
        {%- set commit = commits[path[-1]] -%}
        {%- do operations.append(commit.operation) -%}
        {%- do path.append(commit.parent) -%}
    {%- endfor -%}
    {{ return(operations if path[-1] == first and through in path else none) }}
{%- endmacro %}


{#-
    The select behind `_get_iceberg_commit_operations`: the commits after a time, or all of them. The writers of a table
    may have different clocks, so it goes back ten minutes more.
-#}
{% macro _commits_select(relation, since=none) -%}
select
    cast(snapshot_id as string) as snapshot_id,
    cast(parent_id as string) as parent_id,
    operation
from {{ relation }}.snapshots
{%- if since is not none %}
where committed_at >= timestamp_seconds({{ since - 600 }})
{%- endif %}
{%- endmacro %}


{#- The answer of `_get_commit_sizes` for an Iceberg table. -#}
{% macro _get_iceberg_commit_sizes(relation, first, last) -%}
    {%- set commits = {} -%}
    {%- set rows = run_query(
        'select cast(snapshot_id as string) as id, cast(parent_id as string) as parent,'
        ~ " if(operation = 'append', coalesce(cast(summary['added-records'] as bigint), 0), 0) as rows from "
        ~ relation ~ '.snapshots'
    ).rows -%}
    {%- for row in rows -%}
        {%- do commits.update({row['id']: row}) -%}
    {%- endfor -%}
    {%- set path = [last] -%}
    {%- for _ in commits if path[0] != first and path[0] in commits -%}
        {%- do path.insert(0, commits[path[0]]['parent']) -%}
    {%- endfor -%}
    {%- set sizes = [] -%}
    {%- for id in path if id in commits -%}
        {%- do sizes.append({'id': id, 'rows': commits[id]['rows'] | int}) -%}
    {%- endfor -%}
    {{ return(sizes) }}
{%- endmacro %}


{#-
    The answer of `_appended_rows` for an Iceberg table. Spark gives all readers of one table in a statement the options of the first
    one (SPARK-58330), without a word. A version and a branch are other readers; plain reads and other options are not.

    Streams write small files. Iceberg counts each file as 4 MB at least, and gives a task 16 MB or more: four small files, or so many
    messages that one core decodes them for a minute. Here a task has 64 small files, or 4 MB.
-#}
{% macro _appended_iceberg_rows(relation, first, last, is_second) -%}
    {{ return(
        relation ~ ('.branch_main' if is_second else '') ~ ' with (`start-snapshot-id` = \'' ~ first ~ '\', `end-snapshot-id` = \''
        ~ last ~ "', `split-size` = '4194304', `file-open-cost` = '65536')"
    ) }}
{%- endmacro %}
