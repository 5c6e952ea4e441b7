{#- What the doctor checks of the content of the tables. Each macro returns a list of checks. -#}

{#- Whether each batch of the changelog matches its certificate; if not, the first that does not. -#}
{% macro _get_certificate_checks(tables) -%}
    {%- set damaged = run_query(trueup._first_damaged_select(
        tables.changelog, tables.unique_key, trueup._get_user_columns(tables.changelog)
    )).rows[0][0] -%}
    {%- if damaged is not none -%}
        {{ return([trueup._check_result(
            'the changelog is damaged since batch ' ~ damaged
            ~ ': rows of it were lost, doubled or changed',
            'restore ' ~ tables.changelog ~ ' from a snapshot or a backup, or start again from the log: '
            ~ trueup._rebase_command(tables.name, tables.source_role)
        )]) }}
    {%- endif -%}
    {%- set last = tables.last -%}
    {{ return([trueup._check_result(
        'the changelog has no batch yet' if last.seq == 0 else
        'the changelog has ' ~ last.seq ~ (' batches' if last.seq != 1 else ' batch')
        ~ ' with ticks below ' ~ last.upper ~ '; each is what its certificate says'
    )]) }}
{%- endmacro %}


{#- Whether the state has applied every batch, and is what the changelog made of it. -#}
{% macro _get_state_checks(tables) -%}
    {%- set rebuild = trueup._rebuild_command(tables.name) ~ ' rebuilds it from the changelog.' -%}
    {%- if not tables.state -%}
        {{ return([trueup._check_result('the state is missing', rebuild)]) }}
    {%- endif -%}
    {%- set tail = trueup._get_tail(tables.changelog, tables.state) -%}
    {%- set applied, last = tail.applied_seq, tail.last_seq -%}
    {%- if applied is none -%}
        {{ return([trueup._check_result('the state has no progress row', rebuild)]) }}
    {%- elif applied > last -%}
        {{ return([trueup._check_result(
            'the state is at batch ' ~ applied ~ ', the changelog at batch ' ~ last
            ~ ': the changelog has lost batches',
            'restore ' ~ tables.changelog ~ ' from a snapshot or a backup. Or accept the loss: ' ~ rebuild
        )]) }}
    {%- elif trueup._is_tail_compacted(tail) -%}
        {{ return([trueup._check_result(
            'somebody has rolled the state back to batch ' ~ applied ~ ', and the changelog was compacted since',
            rebuild
        )]) }}
    {%- elif trueup._get_is_progress_row_wrong(tables, tail) -%}
        {{ return([trueup._check_result('the state has more than one progress row, or one with a key', rebuild)]) }}
    {%- elif applied < last -%}
        {{ return([trueup._check_result(
            'the state is at batch ' ~ applied ~ ', behind batch ' ~ last ~ ' of the changelog: a run was'
            ~ ' killed, or is active',
            'if no other run is active, dbt run -s ' ~ tables.name ~ '_state applies the rest.'
        )]) }}
    {%- endif -%}
    {%- set is_moved = trueup._check_result(
        'another run wrote a batch while the doctor read the state', 'call the doctor again.'
    ) -%}
    {%- if last != tables.last.seq -%}
        {{ return([is_moved]) }}
    {%- endif -%}
    {%- set differences = trueup._get_differences(
        tables, {'last_seq': last, 'lower': tables.last.upper},
        trueup._get_user_columns(tables.changelog)
    ) -%}
    {%- set wrong = differences.buckets | length + differences.is_progress_wrong | int
        + differences.has_empty_row | int -%}
    {%- if wrong and trueup._get_tail(tables.changelog, tables.state).last_seq != last -%}
        {{ return([is_moved]) }}
    {%- endif -%}
    {%- if wrong -%}
        {{ return([trueup._check_result(
            'somebody has edited the state: it differs from its certificate in ' ~ wrong
            ~ (' buckets of keys' if wrong != 1 else ' bucket of keys'),
            'dbt run -s ' ~ tables.name ~ '_corrections+ heals it, if the snapshots of the state show the edit or the'
            ~ ' option `verify` is `content`. If not: ' ~ rebuild
        )]) }}
    {%- endif -%}
    {{ return([trueup._check_result(
        'the state has applied batch ' ~ last ~ ', and is what the changelog made of it'
    )]) }}
{%- endmacro %}


{#- Whether a staged batch waits for its append, and why. -#}
{% macro _get_staged_checks(tables) -%}
    {%- set staged = run_query(
        trueup._staged_batch_select(tables.changelog, tables.batch)
    ).rows[0].dict() -%}
    {%- if staged.seq is none or staged.is_appended -%}
        {{ return([trueup._check_result('no batch waits to be appended')]) }}
    {%- elif staged.mismatch -%}
        {{ return([trueup._check_result(
            'a staged batch is left over, and the next batch replaces it: ' ~ staged.mismatch
        )]) }}
    {%- endif -%}
    {{ return([trueup._check_result(
        'batch ' ~ staged.seq ~ ' is staged but not appended: a run was killed, was a dry run'
        ~ ' (`trueup_read_only`), waits for approval (`max_retractions`), or is active',
        'look at ' ~ tables.batch ~ '. Then dbt run -s ' ~ tables.name ~ '_changelog+ appends it, and '
        ~ trueup._run_command(tables) ~ ' stages a new one.'
    )]) }}
{%- endmacro %}


{#- Tables of steps that killed runs have left; no check if there are none. -#}
{% macro _get_leftover_checks(tables) -%}
    {%- set checks = [] -%}
    {#- A run with `on_conflict: retry` may stage in the model of the changelog. -#}
    {%- for relation in [tables.changelog] + trueup._get_replaced_tables(tables.name) -%}
        {%- for name in trueup._get_step_tables(relation) -%}
            {%- do checks.append(trueup._check_result(
                'a killed run has left the table ' ~ name ~ ' with its steps, or a run is active',
                'nothing now: a day later trueup.maintain drops it, or a run of the model.'
            )) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(checks) }}
{%- endmacro %}
