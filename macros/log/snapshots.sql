{#-
    What a table knows of its own history. Each commit makes a snapshot of the table. This tells how a table
    was changed, without a scan of its rows. Two formats keep such a history: see snapshots_iceberg.sql and
    snapshots_delta.sql. The macros below hide which of the two a table is.
-#}

{#- The properties of a table, as a dict. A format adds some of its own, such as the current snapshot. -#}
{% macro _get_properties(relation) -%}
    {%- set properties = {} -%}
    {%- for row in run_query(trueup._step_marker('look') ~ 'show tblproperties ' ~ relation).rows -%}
        {%- do properties.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{ return(properties) }}
{%- endmacro %}


{#- Whether a table is a Delta table, by its properties. -#}
{% macro _is_delta(properties) -%}
    {{ return('delta.minReaderVersion' in properties) }}
{%- endmacro %}


{#-
    The current snapshot of a table, as a text. None for a view, a table of another format, and an Iceberg
    table without a commit. `properties` are those of the table.
-#}
{% macro _get_snapshot(relation, properties) -%}
    {{ return(
        trueup._get_delta_version(relation) if trueup._is_delta(properties)
        else trueup._iceberg_snapshot(properties)
    ) }}
{%- endmacro %}


{#-
    The operations of the commits after the snapshot `first` up to the snapshot `last`, newest first. None if
    `last` does not come from `first`, or if the table has forgotten a commit between them. With `through` also
    none if `last` does not come from this snapshot, which is not older than `first`. `since` is a time before
    these commits, in seconds since 1970. A list of these words:

    `append`, `delete`   rows were added, or removed
    `overwrite`          anything else that may change rows
    `replace`            files were rewritten; the rows are the same
    `vacuum`             Delta only: files were removed that were in use less than a week ago
    `feed`               Delta only: the change feed was switched on or off
    `other`              Delta only: properties, constraints, comments, new columns
    `expired`            Delta only, and no commit: `first` is so old that Delta refuses to read it
-#}
{% macro _get_commit_operations(relation, properties, first, last, since, through=none) -%}
    {%- set through = through or first -%}
    {%- if first == last -%}
        {{ return([] if through == first else none) }}
    {%- elif trueup._is_delta(properties) -%}
        {{ return(trueup._get_delta_commit_operations(relation, properties, first, last, through)) }}
    {%- endif -%}
    {{ return(trueup._get_iceberg_commit_operations(relation, first, last, since, through)) }}
{%- endmacro %}


{#- Why the rows that a commit appends cannot be read alone, whichever commit it is; none if they can. -#}
{% macro _appended_rows_obstacle(properties) -%}
    {{ return(trueup._feed_obstacle(properties) if trueup._is_delta(properties) else none) }}
{%- endmacro %}


{#-
    Why the rows that were appended after the snapshot `first` up to `last` cannot be read alone, in a few
    words; none if they can. `operations` are those between the two.
-#}
{% macro _get_part_obstacle(relation, properties, first, last, since, operations) -%}
    {{ return(
        trueup._get_feed_gap(relation, first, last, since, operations)
        if trueup._is_delta(properties) and first != last else none
    ) }}
{%- endmacro %}


{#-
    The commits from the snapshot `first`, if the table has not forgotten it, to the snapshot `last`, oldest first: the `id` of each
    snapshot, and how many `rows` the commit has appended. `last` must come from `first`: see `_get_commit_operations`.
-#}
{% macro _get_commit_sizes(relation, properties, first, last) -%}
    {{ return(
        trueup._get_delta_commit_sizes(relation, first, last) if trueup._is_delta(properties)
        else trueup._get_iceberg_commit_sizes(relation, first, last)
    ) }}
{%- endmacro %}


{#-
    The last snapshot after `first`, up to `last`, to which at most `most` rows were appended. It is at least the next one after
    `first`.
-#}
{% macro _get_nearest_snapshot(relation, properties, first, last, most) -%}
    {%- set part = namespace(end=none, rows=0) -%}
    {%- for commit in trueup._get_commit_sizes(relation, properties, first, last) if commit.id != first -%}
        {%- set part.rows = part.rows + commit.rows -%}
        {%- if part.end is none or part.rows <= most -%}
            {%- set part.end = commit.id -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(part.end) }}
{%- endmacro %}


{#- The rows of a table at a snapshot, for a `from`. -#}
{% macro _rows_at(relation, properties, snapshot) -%}
    {%- set version = trueup._version_number(snapshot) if trueup._is_delta(properties) else snapshot -%}
    {{ return(relation ~ ' version as of ' ~ version) }}
{%- endmacro %}


{#-
    The rows that were appended to a table after the snapshot `first` up to `last`, for a `from`. A statement may have two of
    them for one table: the second one with `is_second`.
-#}
{% macro _appended_rows(relation, properties, first, last, is_second=false) -%}
    {{ return(
        trueup._appended_delta_rows(relation, first, last) if trueup._is_delta(properties)
        else trueup._appended_iceberg_rows(relation, first, last, is_second)
    ) }}
{%- endmacro %}
