{#-
    What would stop the first batch of a log: ties with `ties: fail`, errors with `errors: fail`. A rebase asks before
    it drops anything.
-#}

{#- Raises if an option refuses commands of the log. -#}
{% macro _require_accepted_log(collection) -%}
    {%- set options = collection.options -%}
    {%- if 'fail' not in [options.ties, options.errors] -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set found = run_query(trueup._refused_commands_select(collection)).rows[0].dict() -%}
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
    The ties and the errors of the whole log, folded from nothing, as a select of one row: their number, and a sample.
    With `first_batch: snapshot` only the last value of a key counts as an error.
-#}
{% macro _refused_commands_select(collection) -%}
    {%- set options, columns = collection.options, collection.command_columns -%}
    {%- set key = trueup._column_list(collection.identity) -%}
    {#- In a log without ticks the run gives the tick. The first batch has one: the first tick. -#}
    {%- set tick = 'cast(' ~ (options.as_of or 0) ~ ' as bigint)' -%}
    {%- set commands = trueup._subquery('select * except (_ts), ' ~ tick ~ ' as _ts from ' ~ collection.commands)
        if '_offset' in collection.extras else collection.commands -%}
    {%- set input = trueup._input_select(
        dict(collection, commands=commands), columns, trueup._first_tick_expr(options), trueup._greatest_bigint()
    ) -%}
    {%- set steps = trueup._steps_select(
        collection, trueup._subquery(input), none, trueup._value_names(columns, collection.unique_key),
        has_truncates=true
    ) -%}
with

steps as (

    select *, null as _digest from {{ trueup._subquery(steps) }}

),

{{ trueup._folded_ticks_ctes(collection.identity, trueup._sequence_terms(options)) }},

marked as (

    select
        *,
        _value._error is not null and {{
            'lead(_ts) over (partition by ' ~ key ~ ' order by _ts) is null' if options.first_batch == 'snapshot'
            else 'not (_value <=> _prior)'
        }} as _is_error
    from folded

)

select
    count_if(_is_tie) as ties,
    count_if(_is_error) as errors,
    min(case when _is_tie then {{ trueup._sample_expr(collection.identity) }} end) as ties_sample,
    min(case when _is_error then {{ trueup._sample_expr(collection.identity) }} end) as errors_sample
from marked
{%- endmacro %}
