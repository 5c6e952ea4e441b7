{#-
    The rows of an append to a Delta table. They are read from the change feed, a property that the owner of the table
    switches on: `delta.enableChangeDataFeed`. It has the right rows also after a compaction, and it costs an append
    nothing.
-#}

{#- Whether a change of properties switches the change feed. A Thrift server gives a map that is no valid JSON. -#}
{% macro _has_feed(commit) -%}
    {{ return('delta.enablechangedatafeed' in commit['operationParameters'] | string | lower) }}
{%- endmacro %}


{#- The answer of `_appended_rows_obstacle` for a Delta table. -#}
{% macro _feed_obstacle(properties) -%}
    {{ return(
        none if properties.get('delta.enableChangeDataFeed', 'false') | lower == 'true'
        else 'the log is a Delta table whose change feed is off (`delta.enableChangeDataFeed`)'
    ) }}
{%- endmacro %}


{#-
    The answer of `_get_part_obstacle` for a Delta table. The feed reads the files of each append, also if a
    later commit has replaced them. A vacuum removes such files, a week after they were replaced or earlier.
    Not every vacuum is in the history. Nor can the feed read across a change of columns, except a new one.
-#}
{% macro _get_feed_gap(relation, first, last, since, operations) -%}
    {%- set are_files_replaced = 'replace' in operations or 'delete' in operations -%}
    {%- set is_a_week_ago = run_started_at.timestamp() - since > trueup._default_retention_seconds() -%}
    {%- if 'feed' in operations -%}
        {{ return('the change feed of the log was switched on or off') }}
    {%- elif 'expired' in operations -%}
        {{ return('the log keeps its old versions for too short a time (`delta.deletedFileRetentionDuration`)') }}
    {%- elif are_files_replaced and ('vacuum' in operations or is_a_week_ago) -%}
        {{ return('a vacuum may have removed files of the log') }}
    {%- endif -%}
    {%- set columns = trueup._get_columns(
        'select * from ' ~ relation ~ ' version as of ' ~ trueup._version_number(last)
    ) -%}
    {%- for column in trueup._get_columns(
        'select * from ' ~ relation ~ ' version as of ' ~ trueup._version_number(first)
    ) if column not in columns -%}
        {{ return('the columns of the log changed') }}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro %}


{#- The answer of `_appended_rows` for a Delta table. -#}
{% macro _appended_delta_rows(relation, first, last) -%}
(
    select * except (_change_type, _commit_version, _commit_timestamp)
    from table_changes(
        {{ trueup._literal(relation) }},
        {{ trueup._version_number(first) + 1 }},
        {{ trueup._version_number(last) }}
    )
    where _change_type = 'insert'
)
{%- endmacro %}
