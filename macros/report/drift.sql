{#-
    The select of the drift report: at most `limit` rows of each cause. Each row also has the number of all
    rows of its cause. The view of the commands must exist.
-#}
{% macro _get_drift_select(collection, table, limit) -%}
    {%- set found = trueup._get_collection_to_adopt(collection) -%}
    {%- do trueup._require_adoptable_log(found.extras) -%}
    {%- set now = trueup._get_table_to_adopt(collection, table).now -%}
    {%- set table_columns = trueup._get_columns('select * from ' ~ now) -%}
    {%- set rows = trueup._adopted_rows_select(
        now, table_columns, found.command_columns, found.unique_key, found.options.null_keys
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
    {{ return(trueup._drift_select(found, rows, log, limit, one_sided={
        'only_in_log': trueup._missing_names(found.command_columns, table_columns),
        'only_in_table': trueup._missing_names(table_columns, found.command_columns),
    })) }}
{%- endmacro %}


{#- The names of the columns that `others` does not have. As in an adoption, upper and lower case are the same. -#}
{% macro _missing_names(columns, others) -%}
    {%- set known, missing = others | map(attribute='name') | map('lower') | list, [] -%}
    {%- for column in columns if column.name | lower not in known -%}
        {%- do missing.append(column.name) -%}
    {%- endfor -%}
    {{ return(missing) }}
{%- endmacro %}


{#-
    The select behind `_get_drift_select`. `rows` is that of `_adopted_rows_select`, and `log` says where the
    log ends. Each row also has `one_sided` in JSON: the names of the columns that only the log or only the table has.
-#}
{% macro _drift_select(collection, rows, log, limit, one_sided) -%}
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
    from {{ trueup._subquery(steps) if '_unchanged' in collection.extras else 'settled' }}
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
    {{ trueup._differing_values_expr(trueup._value_names(columns, key)) }} as differing,
    {{ trueup._literal(tojson(one_sided)) }} as one_sided
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
            'struct(' ~ trueup._literal(name) ~ ' as column, '
            ~ trueup._shown_text_expr('cast(_persisted.' ~ column ~ ' as string)') ~ ' as in_table, '
            ~ trueup._shown_text_expr('cast(_desired.' ~ column ~ ' as string)') ~ ' as in_log, '
            ~ 'not (_persisted.' ~ column ~ ' <=> _desired.' ~ column ~ ') as differs)'
        ) -%}
    {%- endfor -%}
    {{ return(
        'case when _persisted is not null and _desired is not null then filter(array('
        ~ (items | join(', ')) ~ '), each -> each.differs) end' if items else 'null'
    ) }}
{%- endmacro %}
