{#- What `trueup adopt` shows: how a table that trueup did not make differs from its log. -#}

{#-
    Facts that are needed before an adoption, as a dict. `now` is where the table is, `then` is where it must
    be. `is_adopted` says whether the collection has adopted it already. Raises if it cannot be adopted.
-#}
{% macro _get_adoption_facts(collection, table) -%}
    {%- do trueup._require_may_adopt(trueup._options_of_collection(collection), is_by_select=false) -%}
    {%- do trueup._require_unrun(collection) -%}
    {%- set place = trueup._get_table_to_adopt(collection, table) -%}
    {%- set changelog = trueup._named_relation(collection, collection ~ '_changelog', 'adopt') -%}
    {{ return({
        'now': place.now | string,
        'then': place.then | string,
        'is_adopted': load_relation(changelog) is not none and trueup._get_is_adopted(changelog),
    }) }}
{%- endmacro %}


{#-
    The select of the drift report: at most `limit` rows of each cause. Each row also has the number of all
    rows of its cause. The view of the commands must exist.
-#}
{% macro _get_drift_select(collection, table, limit) -%}
    {%- set found = trueup._get_collection_to_adopt(collection) -%}
    {%- if trueup._has_carried_values(found.extras) -%}
        {%- do trueup._raise_error(
            'A log whose table is adopted', 'one without changes of key (`old_key`)', 'a log with `old_key`',
            'Let the collection begin with its log, under another name, and compare the two tables.'
        ) -%}
    {%- endif -%}
    {%- if '_offset' in found.extras -%}
        {%- do trueup._raise_error(
            'A log whose table is adopted', 'one with ticks', 'a log with `reclock`',
            'Nothing is changed. Let the collection begin with its log, under another name.'
        ) -%}
    {%- endif -%}
    {%- set now = trueup._get_table_to_adopt(collection, table).now -%}
    {%- set rows = trueup._adopted_rows_select(
        now, trueup._get_columns('select * from ' ~ now), found.command_columns, found.unique_key,
        found.options.null_keys
    ) -%}
    {%- set log = run_query(trueup._measured_log_select(
        found.commands, {'last_seq': 0, 'last_batch_id': none, 'lower': found.options.as_of or 0}, none,
        found.options
    )).rows[0].dict() -%}
    {%- do trueup._require_no_null_ticks(found.commands, log.null_ticks) -%}
    {%- do trueup._require_bounded_ticks(found.commands, log.last_tick) -%}
    {%- do trueup._require_arrivals(found.commands, log.get('null_arrivals', 0)) -%}
    {%- if log.upper is none or log.upper == log.lower -%}
        {%- do trueup._raise_error(
            'The log of a collection that adopts a table', 'one with commands to settle', 'none',
            'Nothing is changed. Look at the model ' ~ found.commands ~ '.'
        ) -%}
    {%- endif -%}
    {{ return(trueup._drift_select(found, rows, log, limit)) }}
{%- endmacro %}


{#-
    A collection that has not run, as a dict with the fields that the fold of its commands needs. See
    docs/objects.md.
-#}
{% macro _get_collection_to_adopt(collection) -%}
    {%- set unique_key = trueup._key_of_collection(collection) -%}
    {%- set commands = trueup._named_relation(collection, collection ~ '_commands', 'adopt') -%}
    {%- set described = trueup._get_columns('select * from ' ~ commands) -%}
    {{ return(trueup._adopting_collection({
        'name': collection,
        'unique_key': unique_key,
        'identity': unique_key + ['_error_key'],
        'options': trueup._options_of_collection(collection),
        'commands': commands,
        'command_columns': trueup._user_columns(described),
        'extras': trueup._extra_columns(described),
    })) }}
{%- endmacro %}


{#-
    The select behind `_get_drift_select`. `rows` is that of `_adopted_rows_select`, and `log` says where the
    log ends.
-#}
{% macro _drift_select(collection, rows, log, limit) -%}
    {%- set key, columns = collection.unique_key, collection.command_columns -%}
    {%- set settled = trueup._input_select(
        collection, columns, trueup._first_tick_expr(collection.options), log.upper
    ) -%}
    {%- set steps = trueup._steps_select(
        collection, trueup._subquery(settled), none, trueup._value_names(columns, key), log.has_truncates
    ) -%}
with

adopted as (

    {{ rows }}

),

settled as (

    {{ settled }}

),

expected as (

    select *, true as _is_known
    from {{ trueup._subquery(trueup._last_values_select(collection, steps)) }}
    where _error_key is null

),

-- The values that a key had at some time.
values_of_log as (

    select distinct {{ trueup._column_list(key) }}, _value, true as _was_known
    from settled
    where _error_key is null and _value is not null

),

compared as (

    select
        {% for name in key -%}
        {%- set name = trueup._quoted(name) -%}
        coalesce(adopted.{{ name }}, expected.{{ name }}) as {{ name }},
        {% endfor -%}
        adopted._persisted,
        adopted._persisted_count,
        expected._is_known,
        case when expected._value._error is null then expected._value end as _desired
    from (select * from adopted where not _is_null_key) as adopted
    full outer join expected
        on {{ trueup._same_key_expr(key, 'adopted', 'expected') }}

),

{{ trueup._drift_causes_ctes(key) }}

select
    _cause as cause,
    _match_rows as cause_rows,
    {{ trueup._key_texts_expr(key) }} as key,
    {{ trueup._differing_values_expr(trueup._value_names(columns, key)) }} as differing
from counted
where _match_place <= {{ limit }}
{%- endmacro %}


{#-
    The columns in which a row of the table and a row of the log differ, as an array of structs: `column`,
    `in_table`, `in_log`. Null unless both rows exist. A long value is cut; Python masks all of them.
-#}
{% macro _differing_values_expr(values) -%}
    {%- set items = [] -%}
    {%- for name in values -%}
        {%- set column = trueup._quoted(name) -%}
        {%- do items.append(
            'struct(' ~ trueup._literal(name) ~ ' as column, left(cast(_persisted.' ~ column
            ~ ' as string), 201) as in_table, left(cast(_desired.' ~ column
            ~ ' as string), 201) as in_log, not (_persisted.' ~ column ~ ' <=> _desired.' ~ column
            ~ ') as differs)'
        ) -%}
    {%- endfor -%}
    {{ return(
        'case when _persisted is not null and _desired is not null then filter(array('
        ~ (items | join(', ')) ~ '), each -> each.differs) end' if items else 'null'
    ) }}
{%- endmacro %}


{#-
    CTEs that say why a row of a table differs from its log. A key with several rows in the table gives one
    more row here, which counts the extra ones.

    Reads: `compared`, `values_of_log`, `adopted`. Ends with: `counted`.
-#}
{% macro _drift_causes_ctes(key) -%}
    {%- set columns = trueup._column_list(key) -%}
caused as (

    select
        {{ trueup._column_list(key, alias='compared') }},
        _persisted,
        _desired,
        1 as _persisted_count,
        case
            when _persisted <=> _desired then if(_persisted is null, null, 'equal')
            when _persisted is null then 'missing_row'
            when _is_known is null then 'unknown_key'
            when _desired is null then 'missed_delete'
            when _was_known then 'late_update'
            else 'other'
        end as _cause
    from compared
    left join values_of_log
        on {{ trueup._same_key_expr(key, 'compared', 'values_of_log') }}
        and compared._persisted <=> values_of_log._value

),

all_causes as (

    select * from caused where _cause is not null
    union all
    select {{ columns }}, _persisted, _persisted, _persisted_count - 1, 'duplicate'
    from adopted
    where not _is_null_key and _persisted_count > 1
    union all
    select {{ columns }}, _persisted, null, _persisted_count, 'null_key'
    from adopted
    where _is_null_key

),

counted as (

    select
        *,
        sum(_persisted_count) over (partition by _cause) as _match_rows,
        row_number() over (partition by _cause order by xxhash64({{ columns }}), {{ columns }})
            as _match_place
    from all_causes

)
{%- endmacro %}
