{#-
    Raises if the ticks cannot be settled. It runs before a rebase drops data that it could not make again.
-#}
{% macro _require_ticks(collection) -%}
    {%- set commands = collection.source -%}
    {%- set is_reclocked = '_offset' in collection.extras -%}
    {%- set is_missing = '_partition is null or _offset is null' if is_reclocked else '_ts is null' -%}
    {%- set row = run_query(
        'select count_if(' ~ is_missing ~ '), max(' ~ ('_offset' if is_reclocked else '_ts') ~ '), '
        ~ ('count_if(_arrived is null)' if collection.arrived_type else '0')
        ~ ", count_if(_op = 'truncate') from " ~ commands
    ).rows[0] -%}
    {%- if is_reclocked -%}
        {%- do trueup._require_no_correction_of_offsets(collection.options) -%}
    {%- endif -%}
    {%- do trueup._require_newest_decides(collection, has_truncates=row[3] > 0) -%}
    {%- do trueup._require_no_null_ticks(commands, row[0]) -%}
    {%- do trueup._require_arrivals(commands, row[2]) -%}
    {%- do trueup._require_bounded_ticks(
        commands, row[1], 'offset (`reclock`)' if is_reclocked else 'tick (`ts`)'
    ) -%}
{%- endmacro %}


{#- Raises if commands have no tick: they would never be settled, and nobody would notice. -#}
{% macro _require_no_null_ticks(commands, null_ticks) -%}
    {%- if null_ticks > 0 -%}
        {%- do trueup._raise_error(
            'The tick (`ts`), or the partition and offset (`reclock`), of `trueup.commands`',
            'not null for every command of ' ~ commands, null_ticks ~ ' commands without one',
            'Give them one, or leave them out of the relation that `trueup.commands` reads.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if commands have no value of `arrived`: a run could not tell whether it has read them. -#}
{% macro _require_arrivals(commands, null_arrivals) -%}
    {%- if null_arrivals > 0 -%}
        {%- do trueup._raise_error(
            trueup._argument('commands', 'arrived'), 'not null for every command of ' ~ commands,
            null_arrivals ~ ' commands without a value',
            'Nothing is staged. Give each command a value, for example with coalesce.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Raises if a tick or an offset is the greatest bigint. The batch ends one after it, which would overflow.
    Without ANSI mode, as in the sessions of dbt-spark, an overflow raises no error. `kind` says which of the
    two it is.
-#}
{% macro _require_bounded_ticks(commands, last_tick, kind='tick (`ts`)') -%}
    {%- if last_tick == trueup._greatest_bigint() -%}
        {%- set name = kind.partition(' ')[0] -%}
        {%- do trueup._raise_error(
            'The ' ~ kind ~ ' of every command of ' ~ commands,
            'below ' ~ trueup._greatest_bigint() ~ ', the greatest bigint: a batch ends one after it',
            'a command with the ' ~ name ~ ' ' ~ last_tick,
            'Nothing is staged. If it stands for "no ' ~ name
            ~ ' yet", leave the command out until it has one.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if the planned batch would settle ticks that cannot be settled, or that the options forbid. -#}
{% macro _require_settleable(collection, plan) -%}
    {%- set options = collection.options -%}
    {%- do trueup._require_no_null_ticks(collection.source, plan.null_ticks) -%}
    {%- do trueup._require_bounded_ticks(collection.source, plan.last_tick) -%}
    {%- do trueup._require_arrivals(collection.source, plan.get('null_arrivals', 0)) -%}
    {%- if options.late == 'fail' and plan.late_dropped -%}
        {%- do trueup._raise_late_error(collection, plan) -%}
    {%- endif -%}
    {%- do trueup._require_newest_decides(
        collection, plan.get('has_truncates') or plan.get('has_settled_truncates')
    ) -%}
    {%- if plan.begins_orders and '_offset' in collection.extras -%}
        {%- do trueup._raise_error(
            'Option `late` of ' ~ model.name,
            'drop or fail, as before', options.late,
            'Nothing is staged. The earlier batches did not remember the last command of each key, and a log without'
            ~ ' ticks (`reclock`) is not read again. To use newest, start again from the log: '
            ~ trueup._rebase_command(collection.name)
        ) -%}
    {%- endif -%}
    {%- if options.late == 'newest' and '_offset' in collection.extras and plan.last_seq > 0
            and not plan.was_reclocked -%}
        {%- do trueup._raise_error(
            trueup._argument('commands', 'reclock') ~ ' in ' ~ collection.name ~ '_commands',
            'left out, as before, with option `late: newest`', 'a log without ticks',
            'Nothing is staged. The last command of each key is remembered with its tick, and no command without a'
            ~ ' tick is newer. To use reclock, start again from the log: ' ~ trueup._rebase_command(collection.name)
        ) -%}
    {%- endif -%}
    {%- if plan.has_provisional and not options.eager -%}
        {%- do trueup._raise_error(
            'Option `eager` of ' ~ model.name,
            'true as long as the changelog has updates of open ticks', 'false',
            "Retract them first: run once with `eager: true` and --vars '{trueup_until: "
            ~ plan.lower ~ "}'."
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Raises because commands came late, with the option `late: fail`. The count does not tell commands of settled ticks
    from those below `as_of`.
-#}
{% macro _raise_late_error(collection, plan) -%}
    {%- set as_of = collection.options.as_of -%}
    {%- if '_offset' in collection.extras -%}
        {%- set must, got = 'at an offset that no batch has settled', ' commands of settled offsets' -%}
    {%- else -%}
        {%- set must = 'at tick ' ~ plan.lower ~ ' or later: all ticks before it are settled' ~ (
            '' if as_of is none else ', or below the option `as_of` (' ~ as_of ~ ')'
        ) -%}
        {%- set got = ' commands of earlier ticks, which came late' -%}
    {%- endif -%}
    {%- do trueup._raise_error(
        'With option `late: fail` every command of ' ~ collection.source, must, plan.late_dropped ~ got,
        'Nothing is staged. Take them out of the log, or set the option `late`.'
    ) -%}
{%- endmacro %}


{#- Raises if the option is `late: newest`, and the newest command of a key is not enough to know its value. -#}
{% macro _require_newest_decides(collection, has_truncates) -%}
    {%- if collection.options.late == 'newest' and (has_truncates or '_unchanged' in collection.extras) -%}
        {%- do trueup._raise_error(
            'Option `late` of ' ~ model.name,
            'drop, correct or fail, because the newest command of a key is not enough to know its value: a command'
            ~ ' leaves columns unchanged (`unchanged`, `ignore_null_updates`), or is a truncate',
            collection.options.late, 'Nothing is staged. Set the option `late` to another value.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if late commands of a log without ticks would need a correction. -#}
{% macro _require_no_correction_of_offsets(options) -%}
    {%- if options.late == 'correct' -%}
        {%- do trueup._raise_error(
            'Option `late` of ' ~ model.name, 'drop, newest or fail where the log has no ticks (`reclock`)',
            options.late,
            'trueup takes a command below a settled offset for a duplicate. Leave the option out, or use newest.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
