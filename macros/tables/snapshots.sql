{#-
    What an Iceberg table knows of its own history. Each commit makes a snapshot, and each snapshot names its
    parent. This tells how a table was changed, without a scan of its rows.
-#}

{#- The properties of a table, as a dict. Iceberg adds some of its own, such as the current snapshot. -#}
{% macro _get_properties(relation) -%}
    {%- set properties = {} -%}
    {%- for row in run_query('show tblproperties ' ~ relation).rows -%}
        {%- do properties.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{ return(properties) }}
{%- endmacro %}


{#-
    The current snapshot of an Iceberg table by its properties, as a text. None for an empty table, a view,
    and a table of another format.
-#}
{% macro _current_snapshot(properties) -%}
    {%- set snapshot = properties.get('current-snapshot-id', 'none') -%}
    {{ return(
        snapshot if properties.get('format', '').startswith('iceberg/') and snapshot != 'none' else none
    ) }}
{%- endmacro %}


{#-
    The operations of the commits after the snapshot `first` up to the snapshot `last`, newest first: a list
    of `append`, `overwrite`, `delete` and `replace`. None if `last` does not come from `first`, or if the
    table has expired a snapshot between them. `since` is a time before these commits, in seconds since 1970.
-#}
{% macro _get_operations(relation, first, last, since) -%}
    {%- if first == last -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set commits = {} -%}
    {%- for row in run_query(trueup._commits_select(relation, since)).rows -%}
        {%- do commits.update({row[0]: {'parent': row[1], 'operation': row[2]}}) -%}
    {%- endfor -%}
    {%- set operations, path = [], [last] -%}
    {%- for _ in commits if path[-1] in commits and path[-1] != first -%}
        {%- set commit = commits[path[-1]] -%}
        {%- do operations.append(commit.operation) -%}
        {%- do path.append(commit.parent) -%}
    {%- endfor -%}
    {{ return(operations if path[-1] == first else none) }}
{%- endmacro %}


{#-
    The select behind `_get_operations`: the commits after a time. The writers of a table may have different
    clocks, so it goes back ten minutes more.
-#}
{% macro _commits_select(relation, since) -%}
select
    cast(snapshot_id as string) as snapshot_id,
    cast(parent_id as string) as parent_id,
    operation
from {{ relation }}.snapshots
where committed_at >= timestamp_seconds({{ since - 600 }})
{%- endmacro %}
