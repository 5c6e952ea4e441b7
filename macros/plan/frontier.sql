{#-
    Adds to the progress of a collection, which `_get_progress` has read, what its log holds. Two queries:
    in one, Spark would plan the first again at each place that the second names it. A dict:

    `last_seq`                 the last batch in the changelog, 0 before the first
    `applied_seq`              the last batch in the state
    `seq`, `lower`, `upper`    the batch to mint; the first lower is the option `as_of`, else the
                               smallest tick of the log, or 0 if that is less; `upper` is never
                               below `lower`
    `last_tick`                the greatest tick of the log; none for an empty log
    `commands_settled`         commands of the log below `lower`, now
    `late_dropped`             of these, those that came after their tick was settled; null where
                               the log has lost commands since
    `commands_ahead`           commands of the log at or past `lower`, of a batch that is cut its own
    `records_indexed`          rows and errors that the state holds
    `leftover_batch_id`        of a batch that is staged and was never appended, else none
    `is_leftover_read_only`    whether a run with `trueup_read_only` has staged it
    `last_batch_id`            of the last batch in the changelog
    `has_truncates`            whether the log has truncates from `lower` to before `open_upper`
    `has_settled_truncates`    whether it has truncates before `lower`
    `open_upper`               the ticks from `upper` to before this one are open: an eager batch
                               writes them, too; `upper` where the collection is not eager
    `has_provisional`          whether the changelog may have updates of open ticks
    `correction_count`         the corrections that wait for this batch
    `partitions`               how far each partition goes, as an SQL expression; none unless
                               `reclocked`, the name of a collection whose log has no ticks
    `since`                    the first tick that can be read; none where nothing was compacted
    `settled_definition`       of the commands that the last batch was made of
    `last_seal`                the seal `own` of the last batch in the changelog; none before the first
    `unsealed_seq`             the first batch whose progress row is lost, doubled or edited, else none
    `takes_back`               whether a batch from `applied_seq` to before `last_seq` left ticks open,
                               so that the next one took back what it had written for them

    Null ticks are refused here: a command without a tick would never be settled, nor missed. A
    collection by a select has no log (`commands` is none): `input_upper` says how far it goes.
-#}
{% macro _get_frontier(commands, progress, reclocked, options, input_upper=none) -%}
    {%- set frontier = dict(progress) -%}
    {%- set settled = trueup._session_name(reclocked, 'settled') if reclocked else none -%}
    {%- set measured_log = trueup._measured_log_select(
        commands, progress, settled, options, input_upper
    ) -%}
    {%- do frontier.update(
        trueup._get_measured_partitions(reclocked, measured_log) if reclocked
        else run_query(measured_log).rows[0].dict()
    ) -%}
    {%- do trueup._require_no_null_ticks(commands, frontier.null_ticks) -%}
    {%- do trueup._require_bounded_ticks(commands, frontier.last_tick) -%}
    {%- if options.late == 'fail' and frontier.late_dropped -%}
        {%- do trueup._raise_error(
            'With option `late: fail` every command of ' ~ commands,
            'at or past the lower ' ~ frontier.lower ~ ' when it comes',
            frontier.late_dropped ~ ' commands below it, which came after their tick was settled',
            'Nothing is staged. Take them out of the log, or set the option `late`.'
        ) -%}
    {%- endif -%}
    {%- if frontier.has_provisional and not options.eager -%}
        {%- do trueup._raise_error(
            'Option `eager` of ' ~ model.name,
            'true as long as the changelog has updates of open ticks', 'false',
            "Take them back first: run once with `eager: true` and --vars '{trueup_until: "
            ~ frontier.lower ~ "}'."
        ) -%}
    {%- endif -%}
    {{ return(frontier) }}
{%- endmacro %}


{#- Raises where ticks cannot be settled: before a rebase drops what it could not make again. -#}
{% macro _require_ticks(commands, is_reclocked) -%}
    {%- set is_missing = '_partition is null or _offset is null' if is_reclocked else '_ts is null' -%}
    {%- set row = run_query(
        'select count_if(' ~ is_missing ~ '), max(_ts) from ' ~ commands
    ).rows[0] -%}
    {%- do trueup._require_no_null_ticks(commands, row[0]) -%}
    {%- do trueup._require_bounded_ticks(commands, row[1]) -%}
{%- endmacro %}


{% macro _require_no_null_ticks(commands, null_ticks) -%}
    {%- if null_ticks > 0 -%}
        {%- do trueup._raise_error(
            'The tick (`ts`), or the partition and offset (`reclock`), of `trueup.commands`',
            'not null for every command of ' ~ commands, null_ticks ~ ' commands without one',
            'Give them one, or leave them out of the relation that `trueup.commands` reads.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Raises where a tick is the greatest bigint: the upper, one more, would be none, and a sum that
    overflows is silent where ANSI mode is off, as in the sessions of dbt-spark.
-#}
{% macro _require_bounded_ticks(commands, last_tick) -%}
    {%- if last_tick == 9223372036854775807 -%}
        {%- do trueup._raise_error(
            'The tick (`ts`) of every command of ' ~ commands,
            'below 9223372036854775807, the greatest bigint: a batch ends one after it',
            'a command with the tick ' ~ last_tick,
            'Nothing is staged. If it stands for "no tick yet", leave the command out until it has one.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
