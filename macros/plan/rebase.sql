{#- Drops the tables that a rebase makes again. What would refuse the new batch is looked up first. -#}

{#-
    Drops the changelog and the state of a collection for a rebase. Raises before it drops anything if the
    input could not make them again.
-#}
{% macro _ensure_dropped_for_rebase(collection) -%}
    {%- do trueup._require_storable_columns(collection.command_columns) -%}
    {%- do trueup._require_single_read() -%}
    {%- do trueup._require_zoned_timestamps() -%}
    {%- do trueup._require_free_view(collection.name) -%}
    {%- if collection.is_by_select -%}
        {%- do trueup._require_unique_keys(collection) -%}
    {%- else -%}
        {%- do trueup._require_ticks(collection) -%}
        {%- do trueup._require_accepted_log(collection) -%}
    {%- endif -%}
    {#-
        The state goes first: if the run is killed now, the next one rebuilds it. It goes once more after the
        changelog, because another run may have rebuilt it in between.
    -#}
    {%- for relation in [collection.state, collection.changelog, collection.state] -%}
        {%- do run_query(trueup._drop_table_sql(relation, trueup._file_format())) -%}
        {%- do adapter.cache_dropped(relation) -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    Raises if an option refuses what the log has for the first batch of a rebase: `ties: fail`, `errors: fail`, or
    an `input_upper` that Spark cannot compute.
-#}
{% macro _require_accepted_log(collection) -%}
    {%- set options, is_reclocked = collection.options, '_offset' in collection.extras -%}
    {%- set nothing_settled = {
        'last_seq': 0, 'lower': options.as_of or 0, 'settled_before': none, 'last_batch_id': none
    } -%}
    {#- A log without ticks has its one tick from the run. -#}
    {%- set ticks = run_query(trueup._measured_log_select(
        trueup._subquery('select ' ~ nothing_settled.lower ~ " as _ts, 'upsert' as _op") if is_reclocked
            else collection.commands,
        nothing_settled, none, options
    )).rows[0].dict() -%}
    {%- if 'fail' not in [options.ties, options.errors] -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set commands = trueup._subquery(trueup._reclocked_commands_select(
        collection.commands, nothing_settled.lower, 'cast(null as ' ~ trueup._partitions_type() ~ ')'
    )) if is_reclocked else collection.commands -%}
    {%- set found = run_query(trueup._refused_commands_select(
        dict(collection, commands=commands), ticks.lower, ticks.upper
    )).rows[0].dict() -%}
    {%- for option, what in {'ties': 'a tie', 'errors': 'an error'}.items() -%}
        {%- if options[option] == 'fail' and found[option] > 0 -%}
            {%- do trueup._raise_error(
                'For a rebase with option `' ~ option ~ ': fail` the log ' ~ collection.source,
                'without ' ~ option, found[option] ~ ' times ' ~ what ~ ', such as ' ~ found[option ~ '_sample'],
                'Nothing is dropped. Correct the log, or set the option to '
                ~ ('hash' if option == 'ties' else 'keep') ~ '.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    How often the last command of a key and tick is not the only one with its order, and how often it is an error,
    with a sample of each, as a select of one row.
-#}
{% macro _refused_commands_select(collection, lower, upper) -%}
    {%- set columns = trueup._column_list(collection.identity) -%}
    {%- set values = trueup._value_names(collection.command_columns, collection.unique_key) + ['_error'] -%}
with

ranked as (

    select
        *,
        rank() over (partition by {{ columns }}, _ts order by _order desc) as _order_rank
    from {{ collection.commands }}
    where _ts >= {{ lower }} and _ts < {{ upper }} and _op <> 'truncate'

),

last_commands as (

    select
        {{ columns }},
        _ts,
        count(distinct {{ trueup._exact_json_expr(
            'struct(_op, if(_op = \'upsert\', struct(' ~ trueup._column_list(values) ~ '), null) as _value)'
        ) }}) > 1 as _is_tie,
        count_if(_op = 'upsert' and (_error is not null or _error_key is not null)) > 0 as _is_error
    from ranked
    where _order_rank = 1
    group by {{ columns }}, _ts

)

select
    count_if(_is_tie) as ties,
    count_if(_is_error) as errors,
    min(case when _is_tie then {{ trueup._sample_expr(collection.identity) }} end) as ties_sample,
    min(case when _is_error then {{ trueup._sample_expr(collection.identity) }} end) as errors_sample
from last_commands
{%- endmacro %}
