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
        {%- do trueup._require_key_of_changelog(
            collection, changelog, trueup._key_of_collection(collection), trueup._get_properties(changelog)
        ) -%}
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
