{#-
    The versions of a Delta table, counted from 0. A snapshot of the table is written `<version>@<id of the
    table>@<time of the commit>`. A table that was dropped and made again starts with version 0 and another id. If
    somebody puts an older copy of its folder back, the id stays, and the next commits repeat the numbers, but not
    the times.
-#}

{#-
    The current version of a Delta table, with its id and the time of its commit. The id is read first: if the
    table is made again in between, an old id with a new version is recognised later.
-#}
{% macro _get_delta_version(relation) -%}
    {%- set table = trueup._in_backquotes(relation) -%}
    {%- set id = run_query('describe detail ' ~ table).rows[0]['id'] -%}
    {%- set commit = run_query('describe history ' ~ table ~ ' limit 1').rows[0] -%}
    {{ return([commit['version'] | int, id, trueup._commit_time(commit)] | join('@')) }}
{%- endmacro %}


{#- The time of a commit, in milliseconds since 1970. -#}
{% macro _commit_time(commit) -%}
    {{ return((trueup._parsed_time(commit['timestamp']).timestamp() * 1000) | round | int) }}
{%- endmacro %}


{#- A time in the result of a query. Some connections give it as a text. -#}
{% macro _parsed_time(time) -%}
    {%- set form = '%Y-%m-%d %H:%M:%S' ~ ('.%f' if '.' in time | string else '') -%}
    {{ return(modules.datetime.datetime.strptime(time, form) if time is string else time) }}
{%- endmacro %}


{#-
    Whether `commits`, rows by their version, have the commit of a snapshot. If a storage gives two commits one time,
    Delta adds a millisecond to the later one, but only if it lists both.
-#}
{% macro _has_commit(commits, snapshot) -%}
    {%- set version, times = trueup._version_number(snapshot), snapshot.split('@')[2:] -%}
    {{ return(
        version in commits and times != []
        and 0 <= trueup._commit_time(commits[version]) - times[0] | int < 1000
    ) }}
{%- endmacro %}


{#-
    A table in a command of Delta. Delta's parser takes some words, such as `history`, for its own, and leaves the
    command to Spark, which then looks for another table.
-#}
{% macro _in_backquotes(relation) -%}
    {%- set parts = [] -%}
    {%- for part in modules.re.findall('(?:`[^`]*`)+|[^`.]+', relation | string) -%}
        {%- do parts.append(part if part.startswith('`') else '`' ~ part ~ '`') -%}
    {%- endfor -%}
    {{ return(parts | join('.')) }}
{%- endmacro %}


{#- The number of the version in a snapshot of a Delta table. -#}
{% macro _version_number(snapshot) -%}
    {{ return(snapshot.partition('@')[0] | int) }}
{%- endmacro %}


{#-
    The answer of `_get_commit_operations` for a Delta table. The history begins with the newest commit. Up to ten
    commits may come between the statement that found `last` and this one.
-#}
{% macro _get_delta_commit_operations(relation, properties, first, last, through) -%}
    {%- set begin, end = trueup._version_number(first), trueup._version_number(last) -%}
    {%- set id = last.split('@')[1:2] -%}
    {%- if first.split('@')[1:2] != id or through.split('@')[1:2] != id
            or not begin <= trueup._version_number(through) <= end -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set commits = {} -%}
    {%- set history = 'describe history ' ~ trueup._in_backquotes(relation) ~ ' limit ' ~ (end - begin + 11) -%}
    {%- for row in run_query(history).rows -%}
        {%- do commits.update({row['version'] | int: row}) -%}
    {%- endfor -%}
    {%- if not (trueup._has_commit(commits, first) and trueup._has_commit(commits, through)) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set is_expired = trueup._get_is_delta_version_expired(commits[begin]['timestamp'], properties) -%}
    {%- set operations = ['expired'] if is_expired else [] -%}
    {%- for version in range(end, begin, -1) if version in commits -%}
        {%- do operations.append(trueup._delta_commit_operation(commits[version])) -%}
    {%- endfor -%}
    {%- set is_whole = operations | reject('eq', 'expired') | list | length == end - begin -%}
    {{ return(operations if is_whole else none) }}
{%- endmacro %}


{#-
    Whether Delta refuses to read a version because its commit is too old, or will do so within an hour. Since
    version 4.1 it refuses this also if no vacuum has removed a file. `committed_at` is the time of the commit. It has
    no time zone, so it is compared with the time that the same connection gives for now.
-#}
{% macro _get_is_delta_version_expired(committed_at, properties) -%}
    {%- set given = properties.get('delta.deletedFileRetentionDuration') -%}
    {%- set kept = trueup._default_retention_seconds() if given is none else trueup._delta_interval_seconds(given) -%}
    {%- set now = trueup._parsed_time(run_query('select current_timestamp()').rows[0][0]) -%}
    {%- set age = (now - trueup._parsed_time(committed_at)).total_seconds() -%}
    {{ return(kept > 0 and age > kept - [3600, kept / 10] | min) }}
{%- endmacro %}


{#- For how long Delta keeps old versions of a table by default: a week. -#}
{% macro _default_retention_seconds() -%}
    {{ return(7 * 24 * 3600) }}
{%- endmacro %}


{#- The seconds of an interval with several units, such as `interval 1 week 12 hours`: Delta writes them so. -#}
{% macro _delta_interval_seconds(interval) -%}
    {%- set units = trueup._interval_units() -%}
    {%- set milliseconds = [] -%}
    {%- for count, unit in modules.re.findall('(-?\\d+)\\s*(' ~ (units | join('|')) ~ ')', interval | lower) -%}
        {%- do milliseconds.append((count | int) * units[unit]) -%}
    {%- endfor -%}
    {{ return((milliseconds | sum) / 1000) }}
{%- endmacro %}


{#-
    What a commit of a Delta table did, in the words of `_get_commit_operations`. A commit is an append only if that
    is sure: an operation that is not known here is an `overwrite`. If a MERGE wrote files of changes, the feed
    reads them instead of the data, and a vacuum may remove them.
-#}
{% macro _delta_commit_operation(commit) -%}
    {%- set name = commit['operation'] -%}
    {%- set parameters = trueup._dict_of(commit['operationParameters']) -%}
    {%- set counts = trueup._dict_of(commit['operationMetrics']) -%}
    {%- set is_append = {
        'WRITE': parameters.get('mode') == 'Append',
        'STREAMING UPDATE': parameters.get('outputMode') == 'Append',
        'MERGE': counts.get('numTargetRowsUpdated') == '0' and counts.get('numTargetRowsDeleted') == '0'
            and counts.get('numTargetFilesRemoved') == '0'
            and counts.get('numTargetChangeFilesAdded', '0') == '0',
    } -%}
    {%- set others = {
        'DELETE': 'delete',
        'OPTIMIZE': 'replace', 'REORG': 'replace',
        'VACUUM START': 'vacuum' if trueup._is_early_vacuum(parameters) else 'other',
        'VACUUM END': 'other',
        'SET TBLPROPERTIES': 'feed' if trueup._has_feed(commit) else 'other',
        'UNSET TBLPROPERTIES': 'feed' if trueup._has_feed(commit) else 'other',
        'ADD COLUMNS': 'other', 'CHANGE COLUMN': 'other', 'CHANGE COLUMNS': 'other', 'CLUSTER BY': 'other',
        'ADD CONSTRAINT': 'other', 'DROP CONSTRAINT': 'other',
    } -%}
    {{ return('append' if is_append.get(name) else others.get(name, 'overwrite')) }}
{%- endmacro %}


{#-
    A map of a query's result as a dict. The session gives it as a text of JSON. A Thrift server does not escape the
    quotes within a value, such as a list of partition columns. Such a text is no JSON. Then only the mode of the
    commit is read from it, and not even that if a value may hold a text of the user, which can look like a mode.
-#}
{% macro _dict_of(map) -%}
    {%- if map is not string -%}
        {{ return(map or {}) }}
    {%- endif -%}
    {%- set may_have_text = 'predicate' in map or 'replace' in map | lower -%}
    {{ return(
        fromjson(map) or
        ({} if may_have_text else dict(modules.re.findall('[{,]"(mode|outputMode)":"(\\w+)"[,}]', map)))
    ) }}
{%- endmacro %}


{#- Whether a commit of a vacuum removed files that were in use less than a week ago, the default of Delta. -#}
{% macro _is_early_vacuum(parameters) -%}
    {%- set kept = parameters.get(
        'specifiedRetentionMillis', parameters.get('defaultRetentionMillis', 0)
    ) -%}
    {{ return(kept | int < trueup._default_retention_seconds() * 1000) }}
{%- endmacro %}


{#- The answer of `_get_commit_sizes` for a Delta table. -#}
{% macro _get_delta_commit_sizes(relation, first, last) -%}
    {%- set begin, end, sizes = trueup._version_number(first), trueup._version_number(last), [] -%}
    {%- set history = 'describe history ' ~ trueup._in_backquotes(relation) ~ ' limit ' ~ (end - begin + 11) -%}
    {%- for row in run_query(history).rows if begin <= row['version'] | int <= end -%}
        {%- set version, counts = row['version'] | int, trueup._dict_of(row['operationMetrics']) -%}
        {%- set rows = counts.get('numTargetRowsInserted' if row['operation'] == 'MERGE' else 'numOutputRows', 0) -%}
        {%- do sizes.insert(0, {
            'id': first if version == begin else last if version == end else [version, last.split('@')[1], trueup._commit_time(row)] | join('@'),
            'rows': rows | int if trueup._delta_commit_operation(row) == 'append' else 0,
        }) -%}
    {%- endfor -%}
    {{ return(sizes) }}
{%- endmacro %}


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
