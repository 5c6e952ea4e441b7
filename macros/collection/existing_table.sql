{#-
    A table that has the name of the model already, such as that of an incremental model: its rows become batch 1, below every
    order, and it is kept under another name. It is never dropped.
-#}

{#-
    Adopts such a table, before the first batch of a collection, or goes on where a killed run has stopped. Returns whether
    there was one.
-#}
{% macro _ensure_table_adopted(collection) -%}
    {%- set known, kept = load_relation(collection.view), trueup._kept_table(collection) -%}
    {#- A rebase that was killed has left the view without a store. -#}
    {%- set again = collection.get(
        'adopts_again', known is not none and known.type == 'view' and not collection.has_store and load_relation(kept) is not none
    ) -%}
    {%- if not again and (known is not none and known.type == 'view' or known is none and load_relation(kept) is none) -%}
        {{ return(false) }}
    {%- endif -%}
    {#- dbt's cache may be old: another run may adopt the table, too. -#}
    {%- set schema, tables, views = collection.view.without_identifier(), [], [] -%}
    {%- for row in run_query('show tables in ' ~ schema).rows -%}
        {%- do tables.append(row['tableName'] | lower) -%}
    {%- endfor -%}
    {%- for row in run_query('show views in ' ~ schema).rows -%}
        {%- do views.append(row['viewName'] | lower) -%}
    {%- endfor -%}
    {%- set name = collection.view.identifier | lower -%}
    {%- if name in views and not again -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set is_there, is_kept = name in tables, kept.identifier | lower in tables -%}
    {%- set has_store = not again and (load_relation(collection.store) is not none or collection.store.identifier | lower in tables) -%}
    {#- A run that was killed has left the store at batch 0, before or after it renamed the table. -#}
    {%- set newest = trueup._get_newest_batch(dict(collection, has_store=true)) if has_store and is_there != is_kept else {} -%}
    {%- set is_begun = again or newest.get('seq') == 0 and newest.get('adopts', false) -%}
    {%- if not is_there and not is_begun -%}
        {{ return(has_store) }}
    {%- endif -%}
    {%- if not is_begun and (has_store or is_kept) -%}
        {%- do trueup._raise_error(
            'The name ' ~ collection.view, 'free for the view of ' ~ collection.name,
            'a table, and ' ~ (collection.store if has_store else kept) ~ ' exists, too',
            'Nothing is written. Rename the table or drop it.'
        ) -%}
    {%- endif -%}
    {%- do trueup._require_adoptable_columns(collection, collection.view if is_there else kept) -%}
    {%- if not has_store -%}
        {%- do run_query(trueup._create_store_sql(collection, {'run': invocation_id, 'adopts': true})) -%}
    {%- endif -%}
    {%- if is_there -%}
        {%- do run_query(
            trueup._step_marker('rename') ~ ' alter table ' ~ collection.view ~ ' rename to ' ~ kept.include(database=false)
        ) -%}
    {%- endif -%}
    {%- set adopting = dict(collection, has_store=true, has_place=false, given_types=trueup._types_of(collection)) -%}
    {%- set properties = trueup._get_store_properties(adopting.store) -%}
    {%- do run_query(trueup._commit_sql(adopting, {
        'rows': trueup._get_rows_before_select(collection, kept), 'seq': 1, 'since': 0, 'cause': 'adopted', 'filter': none,
        'ts': (collection.options.as_of or 0) - 1 if collection.has_ticks
            else trueup._milliseconds(modules.datetime.datetime.now(modules.pytz.utc)), 'truncated': none,
        'ticks': none,
        'has_truncates': false, 'new_truncates': false, 'moves': false, 'has_unordered': false, 'reads_all': true, 'is_dry': true,
        'notes': dict({'upper': collection.options.as_of or 0} if collection.has_ticks else {}, **{
            'run': invocation_id, 'base': trueup._get_snapshot(collection.store, properties), 'since': 0, 'code': 'adopted',
            'columns': trueup._column_note(collection), 'order_type': collection.order_type, 'at': run_started_at.timestamp() | int,
        }),
    })) -%}
    {{ return(true) }}
{%- endmacro %}


{#- The name under which the table is kept. -#}
{% macro _kept_table(collection) -%}
    {{ return(collection.view.incorporate(path={'identifier': collection.view.identifier ~ '__before'}, type='table')) }}
{%- endmacro %}


{#-
    Before a rebase: whether the collection has adopted a table, whose rows are in no log. Raises if the table is gone, or can
    no longer be adopted: the rebase drops the store.
-#}
{% macro _get_adopts_again(collection) -%}
    {%- set adopts = run_query(
        "select get_json_object(_batch, '$.adopts') from " ~ collection.store ~ " where _kind = 'batch' and _seq = 0"
    ).rows -%}
    {%- set has_adopted = adopts | length > 0 and adopts[0][0] == 'true' -%}
    {%- set kept = trueup._kept_table(collection) -%}
    {%- if has_adopted and load_relation(kept) is none -%}
        {%- do trueup._raise_error(
            'The table ' ~ kept, 'there: ' ~ collection.name ~ ' has adopted its rows', 'no such table',
            'Nothing is dropped. To begin again without these rows, create an empty table of this name with the key columns.'
        ) -%}
    {%- elif has_adopted -%}
        {%- do trueup._require_adoptable_columns(collection, kept) -%}
    {%- endif -%}
    {{ return(has_adopted) }}
{%- endmacro %}


{#- The types of the columns of the store, by name. -#}
{% macro _types_of(collection) -%}
    {%- set types = {} -%}
    {%- for column in collection.columns -%}
        {%- do types.update({column.name | lower: column.type}) -%}
    {%- endfor -%}
    {{ return(types) }}
{%- endmacro %}


{#- Raises unless the table has the key columns, and each of its columns has the type of the collection or a narrower one. -#}
{% macro _require_adoptable_columns(collection, table) -%}
    {%- set found, refused = {}, [] -%}
    {%- for column in trueup._get_columns('select * from ' ~ table) -%}
        {%- do found.update({column.name | lower: column.type}) -%}
    {%- endfor -%}
    {%- for column in collection.columns -%}
        {%- set type = found.get(column.name | lower) -%}
        {%- if type is none and column.name in collection.key -%}
            {%- do refused.append(column.name ~ ', a key column, which is missing') -%}
        {%- elif type is not none and type not in [collection.texts.get(column.name | lower, column.type), trueup._stored_type(column.type)]
                and not trueup._is_wider(column.type, type) -%}
            {%- do refused.append(trueup._type_change({'name': column.name, 'type': column.type, 'old_type': type})) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if refused -%}
        {%- do trueup._raise_error(
            'The table ' ~ table ~ ', whose rows are to be adopted,', 'one with the columns of the model',
            refused | join('; '), 'Nothing is written. Cast the columns in the model, or rename the table.'
        ) -%}
    {%- endif -%}
    {%- set marked = trueup._get_marked_rows(table, found) -%}
    {%- if marked -%}
        {%- do trueup._raise_error(
            'The table ' ~ table ~ ', whose rows are to be adopted,', 'one without rows that are only marked as deleted',
            marked, 'Nothing is written. Delete the marked rows of the table, and run again. If the model cannot ask for them'
            ~ ' (`perhaps`), drop the column, too.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    In words, which rows of the table the model would take for deletes; none if there are none. `columns` are those of the table.
    A condition that also reads a column which only the log has cannot be asked, so then the column itself is named.
-#}
{% macro _get_marked_rows(table, columns) -%}
    {%- set marked = [] -%}
    {%- set words = 'and or not in is null true false like rlike between case when then else end distinct from cast as' -%}
    {%- for condition in modules.re.findall("(?s)when ((?:(?!when ).)*?) then 'delete'", model.compiled_code or '') -%}
        {%- set plain = modules.re.sub("'[^']*'|[.]\\w+|`", '', condition) | lower -%}
        {%- set names = modules.re.findall('[a-z_][a-z0-9_]*(?![a-z0-9_]|\\s*\\()', plain) | reject('in', words.split()) | list -%}
        {%- set here = names | select('in', columns) | list -%}
        {%- if here and here == names -%}
            {%- set count = run_query('select count(*) from ' ~ table ~ ' where ' ~ condition).rows[0][0] -%}
            {%- do marked.append(count ~ ' with ' ~ condition) if count -%}
        {%- elif here -%}
            {%- do marked.append('perhaps some, by ' ~ (here | join(', '))) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(marked | join('; ')) }}
{%- endmacro %}


{#- The rows of the table as commands with an order below all others, or as rows. -#}
{% macro _get_rows_before_select(collection, table) -%}
    {%- set there = trueup._get_columns('select * from ' ~ table) | map(attribute='name') | map('lower') | list -%}
select
    {%- for column in collection.columns %}
    {%- set name, type = trueup._quoted(column.name), collection.texts.get(column.name | lower) %}
    cast({{ (trueup._json_text_expr(name, type) if type else name) if column.name | lower in there else 'null' }} as {{ trueup._sql_type(column.type) }})
        as {{ trueup._quoted(column.name) }}{{ ',' if collection.is_log or collection.has_error or not loop.last }}
    {%- endfor %}
    {%- if collection.has_error and not collection.is_log %}
    cast(null as string) as _error
    {%- endif %}
    {%- if collection.is_log %}
    cast({{ trueup._least_order_expr(collection) }} as {{ trueup._sql_type(collection.order_type) }}) as _order,
    'upsert' as _op,
    cast(null as string) as _error,
    cast(null as string) as _error_key,
    cast(array() as array<string>) as _unchanged,
    cast(null as string) as _unchanged_value,
    null as _old_key
    {%- endif %}
from {{ table }}
{%- endmacro %}


{#- An order below those of all commands: its epoch is the least number, and its other parts are null. -#}
{% macro _least_order_expr(collection) -%}
    {%- set parts = [trueup._adopted_epoch()] -%}
    {%- for _ in trueup._parsed_type(collection.order_type).fields[1:] -%}
        {%- do parts.append('null') -%}
    {%- endfor -%}
    {{ return('struct(' ~ (parts | join(', ')) ~ ')') }}
{%- endmacro %}
