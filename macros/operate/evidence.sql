{#-
    The evidence about keys: what the log says of them and what the store has, in texts that Python can compare.
    `trueup explain` and `trueup prove` fold it again without any of the macros that fold commands.
-#}

{#-
    A select of the evidence, one row for each fact; `part` says what it is: `about`, `command`, `update`, `row`, `error` or
    `tombstone`.

    `given` is the model: `name`, `schema`, `identifier`, `key`, and `query`, its compiled SQL. `wanted` says which keys:
    `identities` (a list of texts), or `key` or `error_key` of one key, or `sample`, about how many (none for all).
    `now` asks also for the commands that no run has read, `certificate` for a scan of the store, and `log_only` leaves out
    the store.
-#}
{% macro _get_evidence_select(given, wanted) -%}
    {%- set collection = trueup._get_collection_of_model(given) -%}
    {%- set newest = collection.newest -%}
    {%- set read = trueup._get_rows_read(given.query, newest) -%}
    {%- set identities = [trueup._get_identity(collection, wanted)] if wanted.get('key') or wanted.get('error_key') is not none
        else wanted.get('identities') -%}
    {%- set share = trueup._get_share_of_keys(collection, wanted.sample) if wanted.get('sample') else 1 -%}
    {%- set damage = trueup._get_damage(collection, collection.store, newest) if wanted.get('certificate') -%}
    {%- set about = {
        'seq': newest.seq, 'ts': newest.ts, 'upper': newest.get('upper'),
        'columns': collection.columns | rejectattr('name', 'in', collection.key) | list, 'is_log': collection.is_log,
        'is_partial': collection.is_partial, 'is_pinned': read.is_pinned, 'identity': identities[0] if identities else none,
        'share': share, 'damage': damage or none,
    } -%}
    {{ return(trueup._evidence_select(collection, {
        'read': read.rows, 'now': read.now if wanted.get('now') and read.is_pinned else none, 'about': about,
        'has_store': not wanted.get('log_only'), 'erased': trueup._get_erased_hashes(collection.store), 'identities': identities, 'share': share, 'seed': wanted.get('seed', 0),
    })) }}
{%- endmacro %}


{#-
    A collection as one reads it who is not its model: the dict of `definition.sql`, with the columns of its store and without
    its options. Without a `query` it has nothing of the log. `store` may be the plan table of a dry run.
-#}
{% macro _get_collection_of_model(given) -%}
    {%- set view = api.Relation.create(schema=given.schema, identifier=given.identifier, type='view') -%}
    {%- set store = api.Relation.create(schema=given.schema, identifier=given.store, type='table') if given.get('store')
        else trueup._store_of(view) -%}
    {%- if load_relation(store) is none -%}
        {%- do trueup._raise_error(
            'The collection ' ~ given.name, 'one that has run', 'no table ' ~ store, 'Run it: dbt run -s ' ~ given.name
        ) -%}
    {%- endif -%}
    {%- set described = trueup._get_columns(given.query) if given.get('query') else [] -%}
    {%- set names, types = described | map(attribute='name') | list, {} -%}
    {%- for column in described -%}
        {%- do types.update({column.name | lower: column.type}) -%}
    {%- endfor -%}
    {{ return(dict(
        trueup._get_stored_collection(view, store, given.key),
        name=given.name, given_types=types, is_log='_order' in names and '_op' in names, has_error='_error' in names,
        is_partial='_unchanged' in names, unchanged_value='_unchanged_value' in names, has_old_key='_old_key' in names,
        has_ticks='_ts' in names, has_snapshots='_is_first' in names,
    )) }}
{%- endmacro %}


{#-
    The commands that the newest batch and those before it have read, as a dict: `rows`, a select, and `is_pinned`, whether
    it is the log as it was then. If not, it may have more commands. `now` is the whole log.
-#}
{% macro _get_rows_read(query, newest) -%}
    {%- set log = trueup._log_of_one_model(query) -%}
    {%- set position, epochs = newest.get('position') or {}, newest.get('epochs', []) -%}
    {%- set snapshot = position.get('seen') or position.get('snapshot') -%}
    {%- set now = trueup._rows_of_epoch(query, epochs[-1].epoch if epochs else 0) -%}
    {%- set whole = {'rows': now, 'now': now, 'is_pinned': false} -%}
    {%- if not log or not snapshot -%}
        {{ return(whole) }}
    {%- endif -%}
    {%- set properties = trueup._get_properties(log) -%}
    {#- Where each epoch of the orders begins: see `_epochs`. -#}
    {%- set cuts = epochs | selectattr('from') | map(attribute='from') | list -%}
    {%- set is_there = trueup._get_commit_operations(
        log, properties, (cuts + [snapshot])[0], trueup._get_snapshot(log, properties), (epochs + [position])[0].at
    ) is not none -%}
    {%- set rows = trueup._rows_at(log, properties, snapshot) -%}
    {%- if not is_there or not trueup._get_has_current_columns(log, rows) -%}
        {{ return(whole) }}
    {%- endif -%}
    {{ return({
        'rows': trueup._epochs_select(log, properties, query, epochs, snapshot), 'now': now, 'is_pinned': true,
    }) }}
{%- endmacro %}


{#- The hashes of the keys that were erased from a store. -#}
{% macro _get_erased_hashes(store) -%}
    {%- set found = run_query(
        'select to_json(array_distinct(' ~ trueup._erased_expr() ~ ')) from ' ~ store ~ " where _kind = 'batch'"
    ).rows[0][0] -%}
    {{ return(fromjson(found or '[]')) }}
{%- endmacro %}


{#- The text of one key, whose columns are given as texts, or of an error key. Raises if a text has not the type of its column. -#}
{% macro _get_identity(collection, wanted) -%}
    {%- set items, casts = [], [] -%}
    {%- for column in collection.columns if column.name in collection.key -%}
        {%- set text = wanted.key.get(column.name) -%}
        {%- set cast = 'cast(' ~ trueup._literal_or_null(text) ~ ' as ' ~ trueup._sql_type(column.type) ~ ')' -%}
        {%- do items.append(
            cast ~ (' + cast(0 as ' ~ column.type ~ ')' if column.type in ['float', 'double']) ~ ' as ' ~ trueup._quoted(column.name)
        ) -%}
        {%- if text is not none -%}
            {%- do casts.append('if(' ~ cast ~ ' is null, ' ~ trueup._literal(column.name ~ ' = ' ~ text ~ ' (' ~ column.type ~ ')') ~ ', null)') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do items.append('cast(' ~ trueup._literal_or_null(wanted.get('error_key')) ~ ' as string) as _error_key') -%}
    {%- set found = run_query(
        'select ' ~ trueup._sorted_json_expr('struct(' ~ (items | join(', ')) ~ ')') ~ ' as identity, '
        ~ ('coalesce(' ~ (casts | join(', ')) ~ ')' if casts else 'cast(null as string)') ~ ' as wrong'
    ).rows[0] -%}
    {%- if found['wrong'] -%}
        {%- do trueup._raise_error(
            'Each value of the key', 'one that can be cast to the type of its column', found['wrong'], 'Correct the value.'
        ) -%}
    {%- endif -%}
    {{ return(found['identity']) }}
{%- endmacro %}


{#- One key in how many is in a sample of about so many keys. -#}
{% macro _get_share_of_keys(collection, sample) -%}
    {%- set count = run_query(
        'select count(*) from ' ~ collection.store ~ ' where _kind in (' ~ trueup._current_kinds() ~ ')'
    ).rows[0][0] | int -%}
    {{ return([1, (count + sample - 1) // sample] | max) }}
{%- endmacro %}


{#- The select behind `_get_evidence_select`. -#}
{% macro _evidence_select(collection, plan) -%}
with

read_commands as (

    {{ trueup._told_commands_select(collection, plan.read, plan) }}

),
{%- if plan.now %}

now_commands as (

    {{ trueup._told_commands_select(collection, plan.now, plan) }}

),
{%- endif %}

stored as (

    select
        {{ trueup._fact_items({
            'part': '_kind',
            'identity': trueup._identity_expr(collection),
            'value': trueup._told_values_expr(collection),
            'error': '_error',
            'error_kind': '_error_kind',
            'ord': trueup._sorted_json_expr('_order'),
            'orders': trueup._sorted_json_expr('_orders') if collection.is_partial else 'null',
            'seq': '_seq',
            'ts': '_ts',
            'diff': '_diff',
            'cause': '_cause',
        }) }}
    from {{ trueup._stored_relation(collection) }}
    where _kind <> 'batch' {{ '' if plan.has_store else 'and false' }}

)

select {{ trueup._fact_items({'part': "'about'", 'about': trueup._literal(tojson(plan.about))}) }}
union all
select * from read_commands
where op = 'truncate' or is_wanted or {{ trueup._is_wanted_expr('old_identity', plan) }}
{%- if plan.now %}
union all
select * except (part), 'unread' as part from now_commands
where op = 'truncate' or is_wanted or {{ trueup._is_wanted_expr('old_identity', plan) }}
{%- endif %}
union all
select * from stored
where {{ trueup._is_wanted_expr('identity', plan) }}
{%- endmacro %}


{#- The columns of the evidence, as items of a select. Those that are not given are null. -#}
{% macro _fact_items(given) -%}
    {%- set types = {
        'identity': 'string', 'about': 'string', 'value': 'array<string>', 'error': 'string', 'error_kind': 'string',
        'ord': 'string', 'op': 'string', 'scope': 'string', 'unchanged': 'array<string>', 'unchanged_value': 'string', 'old_identity': 'string',
        'seq': 'bigint', 'ts': 'bigint', 'diff': 'int', 'cause': 'string', 'orders': 'string', 'is_wanted': 'boolean',
        'is_erased': 'boolean',
        'part': 'string',
    } -%}
    {%- set items = [] -%}
    {%- for name, type in types.items() -%}
        {%- do items.append('cast(' ~ given.get(name, 'null') ~ ' as ' ~ type ~ ') as ' ~ name) -%}
    {%- endfor -%}
    {{ return(items | join(',\n        ')) }}
{%- endmacro %}


{#- The commands, one row each. In a collection by a SELECT each row is an upsert of one order. -#}
{% macro _told_commands_select(collection, rows, plan) -%}
    {%- set old = [] -%}
    {%- for column in collection.columns if column.name in collection.key -%}
        {%- do old.append(trueup._quoted(column.name) ~ ': ' ~ trueup._sql_type(column.type)) -%}
    {%- endfor -%}
    {%- set identity = trueup._identity_expr(collection, is_stored=false) -%}
    {%- set scope = [] -%}
    {%- for column in collection.columns if column.name in collection.key -%}
        {%- do scope.append(trueup._given_value_expr(collection, column) ~ ' as ' ~ trueup._quoted(column.name)) -%}
    {%- endfor -%}
    {%- set facts = {
        'part': "'command'",
        'identity': identity,
        'is_wanted': trueup._is_wanted_expr(identity, plan),
        'is_erased': 'hex(' ~ trueup._identity_hash_expr(collection) ~ ') in (' ~ trueup._literal_list(plan.erased) ~ ')'
            if plan.erased and collection.is_log else 'false',
        'value': trueup._told_values_expr(collection, is_stored=false),
        'error': '_error' if collection.is_log or collection.has_error else 'null',
        'ord': trueup._sorted_json_expr('_order') if collection.is_log else "'{\"_1\":0}'",
        'op': '_op' if collection.is_log else "'upsert'",
        'scope': "if(_op = 'truncate', " ~ trueup._sorted_json_expr('struct(' ~ (scope | join(', ')) ~ ')') ~ ', null)' if collection.is_log
            else 'null',
        'unchanged': '_unchanged' if collection.is_partial else 'null',
        'unchanged_value': '_unchanged_value' if collection.unchanged_value else 'null',
        'old_identity': trueup._old_identity_expr(collection, 'cast(_old_key as struct<' ~ (old | join(', ')) ~ '>)')
            if collection.has_old_key else 'null',
        'ts': '_ts' if collection.has_ticks else 'null',
    } -%}
select
        {{ trueup._fact_items(facts) }}
from {{ trueup._subquery(rows) }}
{%- if collection.has_snapshots %}
union all
select
        {{ trueup._fact_items({
            'part': "'command'", 'op': "'truncate'", 'ord': trueup._sorted_json_expr('_first_order'),
            'value': "array_repeat('{}', " ~ collection.value_names | length ~ ')',
        }) }}
from ({{ trueup._ended_snapshot_select(trueup._subquery(rows), '_order', '_is_first') }})
where _first_order is not null
{%- endif %}
{%- endmacro %}


{#- The key and the error key as one text. A truncate has none. -#}
{% macro _identity_expr(collection, is_stored=true) -%}
    {%- set items = [] -%}
    {%- for column in collection.columns if column.name in collection.key -%}
        {%- set value = trueup._quoted(column.name) if is_stored else trueup._given_value_expr(collection, column) -%}
        {%- do items.append(
            (value if is_stored or not collection.is_log else 'if(_error_key is null, ' ~ value ~ ', null)')
            ~ ' as ' ~ trueup._quoted(column.name)
        ) -%}
    {%- endfor -%}
    {%- do items.append(('_error_key' if is_stored or collection.is_log else 'cast(null as string)') ~ ' as _error_key') -%}
    {%- set text = trueup._sorted_json_expr('struct(' ~ (items | join(', ')) ~ ')') -%}
    {{ return(text if is_stored or not collection.is_log else "if(_op = 'truncate', null, " ~ text ~ ')') }}
{%- endmacro %}


{#- The old key of a command as such a text; null if it has none. -#}
{% macro _old_identity_expr(collection, old) -%}
    {%- set items = [] -%}
    {%- for column in collection.columns if column.name in collection.key -%}
        {%- set zero = ' + cast(0 as ' ~ column.type ~ ')' if column.type in ['float', 'double'] else '' -%}
        {%- do items.append(old ~ '.' ~ trueup._quoted(column.name) ~ zero ~ ' as ' ~ trueup._quoted(column.name)) -%}
    {%- endfor -%}
    {%- do items.append('cast(null as string) as _error_key') -%}
    {{ return(
        'if(coalesce(to_json(' ~ old ~ "), '{}') = '{}', null, " ~ trueup._sorted_json_expr('struct(' ~ (items | join(', ')) ~ ')') ~ ')'
    ) }}
{%- endmacro %}


{#- The values of a row as an array of texts, one for each value column. -#}
{% macro _told_values_expr(collection, is_stored=true) -%}
    {%- set items = [] -%}
    {%- for column in collection.columns if column.name not in collection.key -%}
        {%- set value = trueup._quoted(column.name) if is_stored else trueup._given_value_expr(collection, column) -%}
        {%- do items.append(trueup._sorted_json_expr('struct(' ~ value ~ ' as ' ~ trueup._quoted(column.name) ~ ')')) -%}
    {%- endfor -%}
    {{ return('array(' ~ (items | join(', ')) ~ ')') }}
{%- endmacro %}


{#- A struct or a map in JSON, with its nulls. Its times are in UTC, so their texts sort as they do. -#}
{% macro _sorted_json_expr(struct) -%}
    {{ return(
        'to_json(' ~ struct ~ ", map('ignoreNullFields', 'false', 'timeZone', 'UTC',"
        ~ " 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))"
    ) }}
{%- endmacro %}


{#- A condition: whether the text of a key is one of those that are wanted. -#}
{% macro _is_wanted_expr(identity, plan) -%}
    {%- if plan.identities is not none -%}
        {{ return(identity ~ ' in (' ~ (trueup._literal_list(plan.identities) or 'null') ~ ')') }}
    {%- elif plan.share > 1 -%}
        {{ return('pmod(xxhash64(' ~ identity ~ ', ' ~ plan.seed ~ '), ' ~ plan.share ~ ') = 0') }}
    {%- endif -%}
    {{ return('true') }}
{%- endmacro %}
