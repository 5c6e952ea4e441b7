{#-
    How a collection and another table with its rows differ, key by key and by cause. The other table is an extract of the
    source (`trueup check --against`), or a table that a collection will take the place of (`trueup adopt`).
-#}

{#-
    A select of the differences: at most `limit` rows of each cause, with the number of all rows of the cause; see
    `_drift_select`.

    `given` is the collection: `name`, `schema`, `identifier` and `key`. If it has not run, `store` is the plan table of a dry
    run, and `query` the compiled SQL of the model. `against` is the other table, or a SELECT in parentheses. `as_of` is the
    tick at whose end the collection is read, a text: a time, or a mapping: a place.
-#}
{% macro _get_drift_select(given, against, as_of=none, limit=5) -%}
    {%- set collection = trueup._get_collection_of_model(given) -%}
    {%- set as_of = trueup._get_tick_at(collection, as_of) if as_of is string or as_of is mapping else as_of -%}
    {%- set there = trueup._get_columns('select * from ' ~ against) -%}
    {%- set theirs = {} -%}
    {%- for column in there -%}
        {%- do theirs.update({column.name | lower: column}) -%}
    {%- endfor -%}
    {%- for name in collection.key if name | lower not in theirs -%}
        {%- do trueup._raise_error(
            'The table to compare', 'one with each key column of ' ~ collection.name ~ ': ' ~ (collection.key | join(', ')),
            there | map(attribute='name') | join(', '), 'Give a SELECT in parentheses that names its columns so.'
        ) -%}
    {%- endfor -%}
    {%- set columns, only_here = [], [] -%}
    {%- for column in collection.columns -%}
        {%- set other = theirs.get(column.name | lower) -%}
        {%- if other -%}
            {%- do columns.append(dict(column, there=other.name, type_there=other.type)) -%}
        {%- else -%}
            {%- do only_here.append(column.name) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set known, only_there = collection.columns | map(attribute='name') | map('lower') | list, [] -%}
    {%- for column in there if column.name | lower not in known -%}
        {%- do only_there.append(column.name) -%}
    {%- endfor -%}
    {{ return(trueup._drift_select(collection, columns, {
        'rows': trueup._subquery(trueup._rows_between_select(collection.view, as_of)) if as_of is not none
            else '(select * from ' ~ collection.store ~ " where _kind = 'row')",
        'errors': trueup._broken_keys_select(collection, as_of),
        'known': trueup._known_rows_select(collection, given, as_of),
        'against': against, 'limit': limit,
        'one_sided': {'only_here': only_here, 'only_there': only_there},
    })) }}
{%- endmacro %}


{#-
    The tick of the newest batch whose run had begun at a time, or that has read nothing of a partition after a place: `topic`,
    `partition` and `offset`. Without `topic` the log must have one.
-#}
{% macro _get_tick_at(collection, at) -%}
    {%- set batches = collection.store ~ " where _kind = 'batch'" -%}
    {%- if at is string -%}
        {%- set tick = run_query(
            'select max(_ts) from ' ~ batches ~ " and cast(get_json_object(_batch, '$.at') as bigint) <= "
            ~ 'unix_seconds(cast(' ~ trueup._literal(at) ~ ' as timestamp))'
        ).rows[0][0] -%}
        {%- if tick is none -%}
            {%- do trueup._raise_error('The time to compare at', 'one after the first batch of ' ~ collection.name, at, 'Give a later time.') -%}
        {%- endif -%}
        {{ return(tick) }}
    {%- endif -%}
    {%- set place = 'partition ' ~ at.partition ~ (' of ' ~ at.topic if at.topic is not none) -%}
    {%- set found = run_query(
        'select max(_ts) filter (where next <= ' ~ at.offset ~ ' + 1), min(next) - 1, count(distinct coalesce(topic, \'\')) from ('
        ~ "select _ts, inline(from_json(get_json_object(_batch, '$.places'), 'array<struct<topic: string, partition: string, next: bigint>>'))"
        ~ ' from ' ~ batches ~ " and get_json_object(_batch, '$.has_rest') is null) where partition = " ~ trueup._literal(at.partition)
        ~ (' and topic = ' ~ trueup._literal(at.topic) if at.topic is not none)
    ).rows[0] -%}
    {%- if found[2] != 1 -%}
        {%- do trueup._raise_error(
            'The place to compare at', 'in a partition that ' ~ collection.name ~ ' has read, and in one topic',
            place ~ ', which is in ' ~ found[2] ~ ' topics of its batches',
            'Give TOPIC:PARTITION:OFFSET.' if found[2] else 'Give the model `reclock`, or give a tick or a time.'
        ) -%}
    {%- elif found[0] is none -%}
        {%- do trueup._raise_error(
            'The place to compare at', 'at or after ' ~ found[1] ~ ', the first offset of ' ~ place ~ ' at the end of a batch', at.offset,
            'Give a greater offset.'
        ) -%}
    {%- endif -%}
    {{ return(found[0]) }}
{%- endmacro %}


{#- The keys with an error in place of their row. -#}
{% macro _broken_keys_select(collection, as_of) -%}
    {%- set key = trueup._column_list(collection.key) -%}
    {%- set is_of_row = "_error_key is null and _error_kind <> 'order'" -%}
    {%- if as_of is none -%}
select distinct {{ key }} from {{ collection.store }} where _kind = 'error' and {{ is_of_row }}
    {%- else -%}
select distinct {{ key }}
from {{ collection.store }}
where _kind = 'update' and {{ is_of_row }} and _ts <= {{ as_of }}
group by {{ key }}, _error, _error_kind
having sum(_diff) > 0
    {%- endif -%}
{%- endmacro %}


{#- What keys have had at any time: the rows of the history, or before the first run the commands. A deleted key is known, too. -#}
{% macro _known_rows_select(collection, given, as_of) -%}
    {%- if not given.get('store') -%}
        {{ return(
            'select * from ' ~ collection.store ~ " where (_kind = 'update' and _diff = 1 and _error_kind is null or _kind = 'tombstone')"
            ~ (' and _ts <= ' ~ as_of if as_of is not none)
        ) }}
    {%- elif collection.is_log -%}
        {%- set items = [] -%}
        {%- for column in collection.columns -%}
            {%- do items.append(trueup._given_value_expr(collection, column) ~ ' as ' ~ trueup._quoted(column.name)) -%}
        {%- endfor -%}
        {{ return(
            'select ' ~ (items | join(', ')) ~ ' from ' ~ trueup._subquery(given.query) ~ " where _op <> 'truncate' and _error_key is null"
        ) }}
    {%- endif -%}
    {{ return('select * from ' ~ collection.store ~ " where _kind = 'row'") }}
{%- endmacro %}


{#-
    The select behind `_get_drift_select`. `columns` are those that both sides have; `there` is the name in the other table.

    Each row is one key: `cause`, `cause_rows` (all keys or rows of this cause), `key` (texts), `differing` (the columns that
    differ), and `one_sided` in JSON: the columns that only one side has.
-#}
{% macro _drift_select(collection, columns, plan) -%}
    {%- set key = collection.key -%}
    {%- set values = columns | rejectattr('name', 'in', key) | list -%}
    {%- set key_texts, same, shown = [], [], [] -%}
    {%- for name in key -%}
        {%- do key_texts.append('left(cast(' ~ trueup._quoted(name) ~ ' as string), 201)') -%}
    {%- endfor -%}
    {%- for column in values -%}
        {%- set name = trueup._quoted(column.name) -%}
        {%- do same.append('here.' ~ name ~ ' <=> there.' ~ name) -%}
        {%- do shown.append(
            'struct(' ~ trueup._literal(column.name) ~ ' as column, left(cast(here.' ~ name ~ ' as string), 201) as here,'
            ~ ' left(cast(there.' ~ name ~ ' as string), 201) as there, not here.' ~ name ~ ' <=> there.' ~ name ~ ' as differs)'
        ) -%}
    {%- endfor -%}
with

here as (

    select
        {%- for column in columns %}
        {{ trueup._quoted(column.name) }},
        {%- endfor %}
        true as _is_here
    from {{ plan.rows }} as persisted

),

given as ( -- the other table, in the types of the collection

    select
        {%- for column in columns %}
        {{ trueup._cast_or_raise_expr(column) }} as {{ trueup._quoted(column.name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ plan.against }} as given

),

there as ( -- one row for each key, and how many it has

    select
        {{ trueup._column_list(key) }},
        {%- for column in values %}
        any_value({{ trueup._quoted(column.name) }}) as {{ trueup._quoted(column.name) }},
        {%- endfor %}
        count(*) as _copies
    from given
    group by {{ trueup._column_list(key) }}

),

paired as (

    select
        {%- for name in key %}
        coalesce(here.{{ trueup._quoted(name) }}, there.{{ trueup._quoted(name) }}) as {{ trueup._quoted(name) }},
        {%- endfor %}
        {%- for column in values %}
        there.{{ trueup._quoted(column.name) }},
        {%- endfor %}
        here._is_here,
        there._copies,
        {{ same | join(' and ') or 'true' }} as _is_same,
        filter(array({{ shown | join(', ') }}), each -> each.differs) as _differing
    from here
    full outer join there on {{ trueup._same_key_expr(key, 'here', 'there') }}

),

broken as (

    {{ plan.errors }}

),

known as ( -- each key that was ever there, and the number of its rows that equal that of the other table

    select
        {%- for name in key %}
        paired.{{ trueup._quoted(name) }},
        {%- endfor %}
        count_if(
            {%- for column in values %}
            known.{{ trueup._quoted(column.name) }} <=> paired.{{ trueup._quoted(column.name) }} and
            {%- endfor %} true
        ) as _times
    from paired
    inner join {{ trueup._subquery(plan.known) }} as known on {{ trueup._same_key_expr(key, 'paired', 'known') }}
    where _copies is not null and not coalesce(_is_here and _is_same, false)
    group by
        {%- for name in key %} paired.{{ trueup._quoted(name) }}{{ ',' if not loop.last }}{% endfor %}

),

caused as (

    select
        paired.*,
        case
            when _copies is null then 'missing_row'
            {%- if key | length == 1 %}
            when _is_here is null and paired.{{ trueup._quoted(key[0]) }} is null then 'null_key'
            {%- endif %}
            when _is_here is null and broken._is_broken then 'error'
            when _is_here is null then if(_times is null, 'unknown_key', 'missed_delete')
            when _is_same then 'equal'
            else if(_times > 0, 'late_update', 'other')
        end as _cause
    from paired
    left join (select *, true as _is_broken from broken) as broken on {{ trueup._same_key_expr(key, 'paired', 'broken') }}
    left join known on {{ trueup._same_key_expr(key, 'paired', 'known') }}

),

counted as (

    select _cause, count(*) as _rows from caused group by _cause
    union all
    select 'duplicate', sum(_copies - 1) from caused where _copies > 1 having sum(_copies - 1) > 0

),

chosen as ( -- some keys of each cause, the same each time

    select *, row_number() over (partition by _cause order by xxhash64({{ key_texts | join(', ') }})) as _place
    from (
        select _cause, {{ trueup._column_list(key) }}, _differing, _is_here and _copies is not null as _is_pair
        from caused where _cause <> 'equal'
        union all
        select 'duplicate', {{ trueup._column_list(key) }}, null, false from caused where _copies > 1
    )

)

select
    counted._cause as cause,
    counted._rows as cause_rows,
    if(chosen._cause is null, null, array({{ key_texts | join(', ') }})) as key,
    if(_is_pair, transform(_differing, each -> struct(each.column, each.here, each.there)), null) as differing,
    {{ trueup._literal(tojson(plan.one_sided)) }} as one_sided
from counted
left join (select * from chosen where _place <= {{ plan.limit }}) as chosen on counted._cause = chosen._cause
{%- endmacro %}


{#-
    A column of the other table in the type of the collection. A value that has no form in this type raises: as a null it could
    seem to be equal.
-#}
{% macro _cast_or_raise_expr(column) -%}
    {%- set value = trueup._quoted(column.there) -%}
    {%- set cast = 'cast(' ~ value ~ ' as ' ~ trueup._sql_type(column.type) ~ ')' -%}
    {%- set message = 'Each value to compare must be one that can be cast to ' ~ column.type ~ ', the type of ' ~ column.name -%}
    {{ return(
        trueup._json_text_expr(value, column.type_there) if trueup._is_kept_as_text(column.type_there)
        else value if column.type == column.type_there
        else 'if(' ~ value ~ ' is not null and ' ~ cast ~ ' is null, raise_error(concat(' ~ trueup._literal(message ~ '.\nGot: ')
        ~ ', cast(' ~ value ~ " as string), '\\nGive a SELECT in parentheses that casts it.')), " ~ cast ~ ')'
    ) }}
{%- endmacro %}
