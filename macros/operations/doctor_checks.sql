{#- The checks of `trueup.doctor`, one macro for each thing that may be wrong. Each returns a list of checks. -#}

{#- Tables of another version of trueup; no check if this version has written them. -#}
{% macro _get_format_checks(tables) -%}
    {%- set known = trueup._statistics_fields() | map(attribute='name') | list -%}
    {%- set names = trueup._get_statistics_names(tables.changelog) -%}
    {%- if names | reject('in', known) | list
            or (trueup._get_format(tables.changelog, names) or 0) > trueup._format_number() -%}
        {{ return([trueup._check(
            'a later version of trueup has written ' ~ tables.changelog,
            'install the version of trueup that has written the table.'
        )]) }}
    {%- elif known | reject('in', names) | list -%}
        {{ return([trueup._check(
            'an earlier version of trueup has written ' ~ tables.changelog,
            trueup._run_command(tables) ~ ' upgrades the tables. Then call the doctor again.'
        )]) }}
    {%- endif -%}
    {{ return([]) }}
{%- endmacro %}


{#- A change of a type that a killed run has not finished; no check if there is none. -#}
{% macro _get_widening_checks(tables) -%}
    {%- set checks = [] -%}
    {%- for role in ['changelog', 'state'] if tables[role] -%}
        {%- for name in trueup._open_widenings(trueup._get_user_columns(tables[role])) -%}
            {%- do checks.append(trueup._check(
                'a run has begun to change the type of ' ~ name ~ ' in ' ~ tables[role]
                ~ ', and has not finished',
                'if no other run is active, ' ~ trueup._run_command(tables)
                ~ ' finishes it. Then call the doctor again.'
            )) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(checks) }}
{%- endmacro %}


{#-
    A key that is not the one the changelog was made with; no check if it is. Certificates depend on the key: with
    another one, all of them would look damaged.
-#}
{% macro _get_key_checks(tables) -%}
    {%- set properties, name = trueup._get_properties(tables.changelog), 'trueup.unique_key' -%}
    {%- set given = trueup._column_list(tables.unique_key) -%}
    {%- if name not in properties -%}
        {{ return([trueup._check(
            'the table ' ~ tables.changelog ~ ' lacks the property `' ~ name ~ '`: somebody has replaced it',
            'if it is an exact copy of the changelog, and the config is as before, '
            ~ trueup._set_made_with_command(tables.changelog, name, given)
        )]) }}
    {%- elif 'trueup.order' not in properties -%}
        {{ return([trueup._check(
            'the table ' ~ tables.changelog ~ ' lacks the property `trueup.order`: somebody has replaced it',
            'the next run that finds commands stops, and prints the statement that sets the property: '
            ~ trueup._run_command(tables)
        )]) }}
    {%- elif not trueup._is_made_with(properties, name, given) -%}
        {{ return([trueup._check(
            'the config `unique_key` is ' ~ given ~ ', but ' ~ tables.changelog ~ ' was made with '
            ~ properties[name],
            'put the config back. Or start again from the log: '
            ~ trueup._rebase_command(tables.name, tables.source_role)
        )]) }}
    {%- endif -%}
    {{ return([]) }}
{%- endmacro %}


{#- Settings that isolate two runs from each other. -#}
{% macro _get_setting_checks(tables) -%}
    {%- set checks, deltas = [], [] -%}
    {%- for role in ['changelog', 'state'] if tables[role] -%}
        {%- set properties = trueup._get_properties(tables[role]) -%}
        {%- do deltas.append(trueup._is_delta(properties)) -%}
        {%- for weak in trueup._weak_isolations(properties) -%}
            {%- do checks.append(trueup._check(
                'the property ' ~ weak ~ ' of ' ~ tables[role] ~ ' lets two runs write at once',
                'alter table ' ~ tables[role] ~ " set tblproperties ('" ~ weak ~ "' = 'serializable')."
            )) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if trueup._get_is_read_twice() -%}
        {%- do checks.append(trueup._check(
            'the Spark setting spark.sql.legacy.inlineCTEInCommands is true, so a batch would be read twice',
            'leave the setting out of the profile, the hooks and the configuration of Spark.'
        )) -%}
    {%- endif -%}
    {%- set cached = none if true in deltas else trueup._get_cached_catalog() -%}
    {%- if cached -%}
        {%- do checks.append(trueup._check(
            'the catalog ' ~ cached ~ ' caches its tables, so a run may not see what others write: it finds nothing'
            ~ ' new, or loses every race',
            'set spark.sql.catalog.' ~ cached ~ '.cache-enabled to false in the profile (`server_side_parameters`).'
        )) -%}
    {%- endif -%}
    {%- if true in deltas and trueup._get_adds_columns() -%}
        {%- do checks.append(trueup._check(
            'the Spark setting spark.databricks.delta.schema.autoMerge.enabled is true, so an apply would add'
            ~ ' columns to the state',
            'set it to false in the profile (`server_side_parameters`), or leave it out.'
        )) -%}
    {%- endif -%}
    {{ return(checks or [trueup._check('the tables and the session isolate two runs from each other')]) }}
{%- endmacro %}


{#- The current catalog if it is one of Iceberg that caches its tables, else none. -#}
{% macro _get_cached_catalog() -%}
    {%- set name = run_query('select current_catalog()').rows[0][0] -%}
    {%- set class, is_cached = trueup._get_setting('spark.sql.catalog.' ~ name),
        trueup._get_setting('spark.sql.catalog.' ~ name ~ '.cache-enabled') -%}
    {{ return(name if class.startswith('org.apache.iceberg.spark.') and is_cached | lower != 'false' else none) }}
{%- endmacro %}


{#- Whether each batch of the changelog matches its certificate; if not, the first that does not. -#}
{% macro _get_certificate_checks(tables) -%}
    {%- set damaged = run_query(trueup._first_damaged_select(
        tables.changelog, tables.unique_key, trueup._get_user_columns(tables.changelog)
    )).rows[0][0] -%}
    {%- if damaged is not none -%}
        {{ return([trueup._check(
            'the changelog is damaged since batch ' ~ damaged
            ~ ': rows of it were lost, doubled or changed',
            'restore ' ~ tables.changelog ~ ' from a snapshot or a backup, or start again from the log: '
            ~ trueup._rebase_command(tables.name, tables.source_role)
        )]) }}
    {%- endif -%}
    {%- set last = tables.last -%}
    {{ return([trueup._check(
        'the changelog has no batch yet' if last.seq == 0 else
        'the changelog has ' ~ last.seq ~ (' batches' if last.seq != 1 else ' batch')
        ~ ' with ticks below ' ~ last.upper ~ '; each is what its certificate says'
    )]) }}
{%- endmacro %}


{#- Whether the state has applied every batch, and is what the changelog made of it. -#}
{% macro _get_state_checks(tables) -%}
    {%- set rebuild = 'dbt run --full-refresh -s ' ~ tables.name ~ '_state rebuilds it from the changelog.' -%}
    {%- if not tables.state -%}
        {{ return([trueup._check('the state is missing', rebuild)]) }}
    {%- endif -%}
    {%- set position = trueup._get_position(tables.changelog, tables.state) -%}
    {%- set applied, last = position.applied_seq, position.last_seq -%}
    {%- if applied is none -%}
        {{ return([trueup._check('the state has no progress row', rebuild)]) }}
    {%- elif applied > last -%}
        {{ return([trueup._check(
            'the state is at batch ' ~ applied ~ ', the changelog at batch ' ~ last
            ~ ': the changelog has lost batches',
            'restore ' ~ tables.changelog ~ ' from a snapshot or a backup. Or accept the loss: ' ~ rebuild
        )]) }}
    {%- elif trueup._is_tail_forgotten(position) -%}
        {{ return([trueup._check(
            'somebody has rolled the state back to batch ' ~ applied ~ ', and the changelog was compacted since',
            rebuild
        )]) }}
    {%- elif applied < last -%}
        {{ return([trueup._check(
            'the state is at batch ' ~ applied ~ ', behind batch ' ~ last ~ ' of the changelog: a run was'
            ~ ' killed, or is active',
            'if no other run is active, dbt run -s ' ~ tables.name ~ '_state applies the rest.'
        )]) }}
    {%- endif -%}
    {%- set differences = trueup._get_differences(
        tables, {'last_seq': last, 'lower': tables.last.upper},
        trueup._get_user_columns(tables.changelog)
    ) -%}
    {%- set wrong = differences.buckets | length + differences.is_progress_wrong | int -%}
    {%- if wrong and trueup._get_position(tables.changelog, tables.state).last_seq != last -%}
        {{ return([trueup._check(
            'another run wrote a batch while the doctor read the state', 'call the doctor again.'
        )]) }}
    {%- endif -%}
    {%- if wrong -%}
        {{ return([trueup._check(
            'somebody has edited the state: it differs from its certificate in ' ~ wrong
            ~ (' buckets of keys' if wrong != 1 else ' bucket of keys'),
            'dbt run -s ' ~ tables.name ~ '_corrections+ heals it, unless the option `verify` is `never`. '
            ~ rebuild
        )]) }}
    {%- endif -%}
    {{ return([trueup._check(
        'the state has applied batch ' ~ last ~ ', and is what the changelog made of it'
    )]) }}
{%- endmacro %}


{#- Whether a staged batch waits for its append, and why. -#}
{% macro _get_staged_checks(tables) -%}
    {%- set staged = run_query(
        trueup._staged_batch_select(tables.changelog, tables.batch)
    ).rows[0].dict() -%}
    {%- if staged.seq is none or staged.is_appended -%}
        {{ return([trueup._check('no batch waits to be appended')]) }}
    {%- elif staged.mismatch -%}
        {{ return([trueup._check(
            'a staged batch is left over, and the next batch replaces it: ' ~ staged.mismatch
        )]) }}
    {%- endif -%}
    {{ return([trueup._check(
        'batch ' ~ staged.seq ~ ' is staged but not appended: a run was killed, was a dry run'
        ~ ' (`trueup_read_only`), waits for approval (`max_retractions`), or is active',
        'look at ' ~ tables.batch ~ '. Then dbt run -s ' ~ tables.name ~ '_changelog+ appends it, and '
        ~ trueup._run_command(tables) ~ ' stages a new one.'
    )]) }}
{%- endmacro %}


{#-
    Whether the log still reaches the ticks that were settled. There is no such check for a log that may lose
    commands, for a log without ticks, and for a collection by a SELECT.
-#}
{% macro _get_log_checks(tables) -%}
    {%- if not tables.source or tables.options.get('log') == 'partial'
            or tables.options.get('late') == 'correct' -%}
        {#- Such a log may lose commands, or corrections make the collection follow it anyway. -#}
        {{ return([]) }}
    {%- endif -%}
    {%- set last = tables.last -%}
    {%- if last.seq == 0 or last.is_reclocked -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set last_tick = run_query('select max(_ts) from ' ~ tables.source).rows[0][0] -%}
    {%- set lost_tick = none if last_tick is not none and last_tick + 1 >= last.upper else run_query(
        trueup._lost_tick_select(tables.changelog, {'last_tick': last_tick, 'lower': last.upper})
    ).rows[0][0] -%}
    {%- if lost_tick is not none and last_tick is none -%}
        {#- A run goes on: a log may be empty after a retention. But nobody should say that it still has the ticks. -#}
        {{ return([trueup._check(
            'the log is empty, but ticks up to ' ~ lost_tick ~ ' were settled',
            'if it should not be empty, restore it, or give its new commands ticks from ' ~ last.upper
            ~ ' on. If it loses old commands on purpose, set the option `log` to partial.'
        )]) }}
    {%- elif lost_tick is not none -%}
        {{ return([trueup._check(
            'the log was recreated or has lost commands: it ends at tick ' ~ last_tick ~ ', but ticks up to '
            ~ lost_tick ~ ' were settled',
            'give its commands ticks from ' ~ last.upper ~ ' on, or start again from it: '
            ~ trueup._rebase_command(tables.name, tables.source_role)
        )]) }}
    {%- endif -%}
    {{ return([trueup._check('the log still reaches the ticks that were settled')]) }}
{%- endmacro %}


{#- Tables of steps that killed runs have left; no check if there are none. -#}
{% macro _get_leftover_checks(tables) -%}
    {%- set checks = [] -%}
    {#- A run with `on_conflict: retry` may stage in the model of the changelog. -#}
    {%- for relation in [tables.changelog] + trueup._get_replaced_tables(tables.name) -%}
        {%- for name in trueup._get_kept_tables(relation) -%}
            {%- do checks.append(trueup._check(
                'a killed run has left the table ' ~ name ~ ' with its steps, or a run is active',
                'nothing now: a day later trueup.maintain drops it, or a run of the model.'
            )) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(checks) }}
{%- endmacro %}


{#- The last batch of a changelog, as a select of one row. `is_reclocked`: its log has no ticks. -#}
{% macro _last_batch_select(changelog) -%}
select
    coalesce(max(_seq), 0) as seq,
    max_by(_upper, _seq) as upper,
    coalesce(max_by(_statistics.partitions is not null, _seq), false) as is_reclocked
from {{ changelog }}
where _kind = 'progress'
{%- endmacro %}


{#- The command that runs the whole collection. -#}
{% macro _run_command(tables) -%}
    {{ return('dbt run -s +' ~ tables.name) }}
{%- endmacro %}
