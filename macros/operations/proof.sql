{#-
    What `trueup prove` compares: a sample of keys, folded again from other batches. It writes to no table: the
    Spark session, which ends with the command, caches the commands of the sample, and has the updates so far in
    a variable. As one select, many batches would be too deep for Spark.
-#}

{#-
    Deals and folds the commands of one round of `trueup prove`, and returns a select of everything that the
    round compares: `part` says what a row is about, and `key` is JSON.

    - `command`: a settled command of the sample, with its `place` among all of them. Commands of one tick and order
      have one `moment`. `old_key` is the key from which it takes the columns that it leaves unchanged
    - `folded`: an update that the fold makes of the dealt commands
    - `changelog`: an update of the changelog. Both are net: equal updates of a tick are added up
    - `applied`: a row that the updates of the applied batches add up to; `state`: a row of the state
    - `since`: the first tick that the changelog still has, if something was compacted

    A `value` is an array of texts: each column in JSON, and the text of the error.

    `draw` says what is dealt: the number of `keys` and of `batches`, and the `seed`.
-#}
{% macro _ensure_proof(collection, draw) -%}
    {%- if not execute -%}
        {{ return('select null') }}
    {%- endif -%}
    {%- set proved = trueup._get_explained_collection(
        collection, trueup._named_relation(collection, collection ~ '_changelog', 'prove'),
        trueup._named_relation(collection, collection ~ '_state', 'prove'), 'prove'
    ) -%}
    {%- do trueup._require_provable(proved) -%}
    {#- The fold of a batch treats late commands by itself. Here all commands are in time. -#}
    {%- set proved = dict(proved, options=dict(proved.options, late='drop', eager=false)) -%}
    {%- set last = run_query(trueup._readable_ticks_select(proved.changelog)).rows[0].dict() -%}
    {%- if trueup._has_carried_values(proved.extras) -%}
        {%- do trueup._ensure_dealt_sample(proved, draw, last.upper) -%}
    {%- endif -%}
    {%- set commands = trueup._session_name(collection, 'dealt_commands') -%}
    {%- do run_query('drop view if exists ' ~ commands) -%}
    {%- do run_query(
        'cache table ' ~ commands ~ ' as\n' ~ trueup._dealt_commands_select(proved, draw, last.upper)
    ) -%}
    {%- set updates = trueup._session_name(collection, 'dealt_updates') -%}
    {%- do trueup._ensure_session_variable(updates, trueup._updates_type(proved)) -%}
    {%- for number in range(1, draw.batches + 1) -%}
        {%- do run_query(
            'set var ' ~ updates ~ ' = ' ~ trueup._subquery(trueup._dealt_updates_select(proved, number))
        ) -%}
    {%- endfor -%}
    {{ return(trueup._proof_select(proved, last)) }}
{%- endmacro %}


{#- Raises unless the commands of a sample of keys say all that their keys have. -#}
{% macro _require_provable(collection) -%}
    {%- set got = 'a collection by a SELECT' if collection.is_by_select
        else 'the option `log: partial`' if collection.options.log == 'partial' -%}
    {%- if got -%}
        {%- do trueup._raise_error(
            'The collection ' ~ collection.name ~ ' of `trueup prove`',
            'made by a log that has all commands of each key', got,
            'Use `trueup check`, which compares the tables with their certificates.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The type of the variable with the updates: an array of structs. -#}
{% macro _updates_type(collection) -%}
    {%- set values = [] -%}
    {%- for column in collection.columns | rejectattr('name', 'in', collection.unique_key) -%}
        {%- do values.append(trueup._quoted(column.name) ~ ': ' ~ trueup._sql_type(column.type)) -%}
    {%- endfor -%}
    {{ return(
        'array<struct<' ~ (trueup._identity_fields(collection) | join(', '))
        ~ ', _ts: bigint, _diff: int, _value: struct<' ~ (values | join(', ')) ~ ', _error: string>>>'
    ) }}
{%- endmacro %}


{#- The columns of the identity, each with its type, as in the type of a struct. -#}
{% macro _identity_fields(collection) -%}
    {%- set fields = {} -%}
    {%- for column in collection.columns -%}
        {%- do fields.update({column.name: trueup._quoted(column.name) ~ ': ' ~ trueup._sql_type(column.type)}) -%}
    {%- endfor -%}
    {%- set identity = [] -%}
    {%- for name in collection.unique_key -%}
        {%- do identity.append(fields[name]) -%}
    {%- endfor -%}
    {{ return(identity + ['_error_key: string']) }}
{%- endmacro %}


{#- The select that `_ensure_proof` returns. `last` has the last batch, its upper, and `since`. -#}
{% macro _proof_select(collection, last) -%}
    {%- set identity, values = collection.identity, trueup._value_names(collection.columns, collection.unique_key) -%}
    {%- set columns, value = trueup._column_list(identity), trueup._proof_value_expr(values) -%}
    {%- set key = trueup._exact_json_expr('struct(' ~ columns ~ ')') -%}
    {%- set row = 'struct(' ~ trueup._column_list(values + ['_error']) ~ ') as _value' -%}
    {%- set commands = trueup._session_name(collection.name, 'dealt_commands') -%}
    {%- set updates = '(select inline(' ~ trueup._session_name(collection.name, 'dealt_updates') ~ '))' -%}
with

sample as (

    select distinct {{ columns }} from {{ commands }} where not _is_truncate

),

persisted as (

    select {{ columns }}, _ts, _diff, _cause, _seq, {{ row }}
    from {{ collection.changelog }} as changelog
    left semi join sample on {{ trueup._same_key_expr(identity, 'changelog', 'sample') }}
    where _kind = 'update'

),

settled as (

    select * from persisted
    where
        _seq <= {{ trueup._number_or_null(last.last_seq) }}
        and (_ts < {{ trueup._number_or_null(last.upper) }} or _cause is not null)

),

applied as (

    select * except (_ts), null as _ts
    from persisted
    where _seq <= {{ trueup._last_seq_expr(collection.state) }}

),

state_rows as (

    select {{ columns }}, null as _ts, 1 as _diff, {{ row }}
    from {{ collection.state }} as state
    left semi join sample on {{ trueup._same_key_expr(identity, 'state', 'sample') }}
    where _kind <> 'progress'

)

select
    'command' as part,
    {{ key }} as key,
    _ts,
    {{ value }} as value,
    null as diff,
    _is_truncate as is_truncate,
    {{ '_unchanged' if '_unchanged' in collection.extras else 'cast(null as array<string>)' }} as unchanged,
    {{ trueup._exact_json_expr(trueup._old_identity_expr(collection))
        if trueup._has_carried_values(collection.extras) else 'cast(null as string)' }} as old_key,
    dense_rank() over (order by _ts, _order) as moment,
    dense_rank() over (order by _ts, {{ trueup._proof_sequence(collection) | join(', ') }}) as place
from {{ commands }}
where _step_copy = 1
{%- for part, relation in {
    'folded': updates, 'changelog': 'settled',
    'applied': 'applied', 'state': 'state_rows'
}.items() %}
union all
select
    '{{ part }}' as part, {{ key }} as key, _ts, {{ value }} as value, sum(_diff) as diff,
    null as is_truncate, null as unchanged, null as old_key, null as moment, null as place
from {{ relation }}
group by {{ columns }}, _ts, _value
having sum(_diff) <> 0
{%- endfor %}
union all
select
    'since' as part, null as key, {{ trueup._number_or_null(last.since) }} as _ts, null as value,
    null as diff, null as is_truncate, null as unchanged, null as old_key, null as moment, null as place
{%- endmacro %}


{#- A value as an array of texts: each column in JSON, and the text of the error. -#}
{% macro _proof_value_expr(values) -%}
    {%- set texts = [] -%}
    {%- for name in values -%}
        {%- do texts.append(trueup._exact_json_expr(
            'named_struct(' ~ trueup._literal(name) ~ ', _value.' ~ trueup._quoted(name) ~ ')'
        )) -%}
    {%- endfor -%}
    {{ return('if(_value is null, null, array(' ~ (texts | join(', ')) ~ ', _value._error))') }}
{%- endmacro %}


{#- The terms that sort the commands of a tick, as in the fold. A truncate comes before those of its order. -#}
{% macro _proof_sequence(collection) -%}
    {%- set terms = [] -%}
    {%- for name in trueup._sequence_terms(collection.options) -%}
        {%- do terms.append(
            name if name == '_order' else 'if(_is_truncate, null, ' ~ name ~ ')'
        ) -%}
    {%- endfor -%}
    {{ return(terms) }}
{%- endmacro %}
