{#-
    The versions of the rows of a collection, as a select (slowly changing dimension, type 2): the key and
    value columns, `valid_from`, `valid_to` and `is_current`. It is made from the changelog alone. See the
    YAML beside this file.

    `version` holds the key and value columns as one struct. So no name within this query can meet one of a
    user.
-#}
{% macro history(collection, track=none, by='tick') -%}
    {%- do trueup._require_no_unit_test('history') -%}
    {%- if by not in ['tick', 'commit_time'] -%}
        {%- do trueup._raise_error(
            trueup._argument('history', 'by'), 'one of tick, commit_time', by
        ) -%}
    {%- endif -%}
    {%- if track is not none -%}
        {%- do trueup._require_list(trueup._argument('history', 'track'), track) -%}
    {%- endif -%}
    {%- set changelog = ref(collection ~ '_changelog') -%}
    {%- set key = trueup._version_columns(
        trueup._key_of_collection(collection) if execute else []
    ) -%}
    {%- if execute and not key -%}
        {%- do trueup._raise_error(
            trueup._argument('history', 'collection'), 'the name of a collection', collection
        ) -%}
    {%- endif -%}
    {#- dbt compile --no-introspect has no connection for a question. -#}
    {%- if execute and flags.INTROSPECT and load_relation(changelog) is not none -%}
        {%- do trueup._require_no_version_columns(trueup._get_user_columns(changelog)) -%}
    {%- endif -%}
with

{{ trueup._versions_ctes(changelog, key, by) }}
{%- set versions = 'versions' %}
{%- if track is not none %},

{{ trueup._tracked_versions_ctes(key, trueup._version_columns(track)) }}
{%- set versions = 'tracked_versions' %}
{%- endif %}
{%- if by == 'commit_time' %},

batches as (

    select _seq as batch, _statistics.committed_at
    from {{ changelog }}
    where _kind = 'progress'

)

select
    version.*,
    begun.committed_at as valid_from,
    ended.committed_at as valid_to,
    ends_at is null as is_current
from {{ versions }}
inner join batches as begun on begun.batch = begins_at
left join batches as ended on ended.batch = ends_at
{%- else %}

select
    version.*,
    begins_at as valid_from,
    ends_at as valid_to,
    ends_at is null as is_current
from {{ versions }}
{%- endif %}
{%- endmacro %}


{#- Raises if a column of the collection has the name of a column that `history` adds. -#}
{% macro _require_no_version_columns(columns) -%}
    {%- for column in columns if column.name | lower in ['valid_from', 'valid_to', 'is_current'] -%}
        {%- do trueup._raise_error(
            trueup._argument('history', 'collection'),
            'a collection without columns that `history` adds: valid_from, valid_to, is_current',
            column.name, 'Give the column another name in the model of the commands.'
        ) -%}
    {%- endfor -%}
{%- endmacro %}


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
    first. After that, a place has at most the end of one version of a key and the begin of another.

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
        lead(begins_at) over (partition by {{ key }} order by begins_at, diff) as ends_at
    from changes

),

versions as (

    select * except (diff) from bounded where diff > 0

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
