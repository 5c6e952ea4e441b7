{#- Columns of the struct `version`, as a comma-separated list. -#}
{% macro _version_columns(names) -%}
    {%- set columns = [] -%}
    {%- for name in names -%}
        {%- do columns.append('version.' ~ trueup._quoted(name)) -%}
    {%- endfor -%}
    {{ return(columns | join(', ')) }}
{%- endmacro %}


{#-
    CTEs of all versions of all rows: `version`, and from where to where it is valid. A place is a settled
    tick, or by commit time the number of a batch. `ends_at` is the first place at which the version is no
    longer valid, null if it is valid now.

    A correction may write into a tick that has updates already. So the updates of a place are added up
    first. After that, a tick has at most the end of one version of a key and the start of another. A batch may have
    more: a compaction may leave an addition whose retraction is of an earlier batch (option `eager`). So by batch
    a version is valid while its diffs sum to 1.

    Reads: the relation `changelog`. Ends with: `versions`.
-#}
{% macro _versions_ctes(changelog, key, by) -%}
changes as (

    select
        struct({{ trueup._all_but_list(['_error', '_error_key'] + trueup._update_columns()) }}) as version,
        {{ '_ts' if by == 'tick' else '_seq' }} as begins_at,
        sum(_diff) as diff
    from {{ changelog }}
    where
        _kind = 'update'
        and _error is null
        {%- if by == 'tick' %}
        -- Rows of open ticks (option `eager`) may still change.
        and _ts < (select max(_upper) from {{ changelog }} where _kind = 'progress')
        {%- endif %}
    group by all
    having sum(_diff) <> 0

),

bounded as (

    select
        *,
        {% if by == 'tick' -%}
        diff as total,
        lead(begins_at) over (partition by {{ key }} order by begins_at, diff) as ends_at
        {%- else -%}
        sum(diff) over (partition by version order by begins_at) as total,
        lead(begins_at) over (partition by version order by begins_at) as ends_at
        {%- endif %}
    from changes

),

versions as (

    select * except (diff, total) from bounded where diff > 0 and total > 0

)
{%- endmacro %}


{#-
    CTEs that join the versions of a key that follow each other without a gap and have the same `tracked`
    columns. The last of them gives the other columns.

    Reads: `versions`. Ends with: `tracked_versions`.
-#}
{% macro _tracked_versions_ctes(key, tracked) -%}
compared as (

    select
        *,
        lag(ends_at) over (partition by {{ key }} order by begins_at) <=> begins_at
        and lag(struct({{ tracked }})) over (partition by {{ key }} order by begins_at)
            <=> struct({{ tracked }}) as is_continued
    from versions

),

numbered as (

    select
        *,
        count_if(not is_continued) over (partition by {{ key }} order by begins_at) as period
    from compared

),

tracked_versions as (

    select
        max_by(version, begins_at) as version,
        min(begins_at) as begins_at,
        max_by(ends_at, begins_at) as ends_at
    from numbered
    group by {{ key }}, period

)
{%- endmacro %}
