{#-
    The materialization `trueup`: a model whose SELECT gives the commands of a log, or rows with a unique key, becomes a
    store (`<model>__trueup`), with its history and current rows, and a view of the rows.

    A run looks, and then commits once: see `look.sql` and `commit.sql`.
-#}
{% materialization trueup, adapter='spark' %}
    {#- 1. Refuse a run over only some of the rows, look, and read the config. A hook may have filled the log. -#}
    {%- do trueup._require_whole_run() -%}
    {{ run_hooks(pre_hooks) }}
    {%- set look = trueup._get_first_look(compiled_code) -%}
    {%- if '_command.place' in compiled_code -%}
        {#-
            Spark gives up after 100 rounds of analysis. The fold of decoded messages may need more. And with more than 100 fields each
            task would make the code of the decoder again, in a second or two.
        #}
        {%- for setting in ['analyzer.maxIterations = 1000', 'codegen.maxFields = 3000'] -%}
            {%- do run_query('set spark.sql.' ~ setting) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set given = trueup._get_store_collection(trueup._get_columns(trueup._step_marker('check') ~ compiled_code)) -%}
    {%- if look.get('is_idle') and look.newest.get('given') == local_md5(tojson(given.given_types)) -%}
        {{ return(trueup._report_up_to_date(look.newest)) }}
    {%- endif -%}

    {%- if config.get('contract').enforced -%}
        {%- do get_assert_columns_equivalent(
            'select ' ~ trueup._column_list(given.key + given.value_names) ~ ' from ' ~ trueup._subquery(compiled_code)
        ) -%}
    {%- endif -%}
    {%- do trueup._ensure_rebased(given) -%}

    {#- 2. Look, commit, and repeat both if another run was first. -#}
    {%- set adopted = trueup._ensure_table_adopted(given) if not trueup._var('trueup_read_only') -%}
    {%- set run = namespace(result=none, collection=dict(given, has_store=given.has_store or adopted)) -%}
    {%- set run.repaired = none -%}
    {%- set run.attempt = 1 -%}
    {%- set run.rest = none -%}
    {%- set run.view = none -%}
    {%- set run.look = look -%}
    {%- set progress = {'batches': [], 'until': none} -%}
    {%- for _ in range(100000) if run.result is none -%}
        {%- set plan = trueup._ensure_batch_plan(run.collection, compiled_code, run.rest, run.look, progress) -%}
        {%- set run.look = {} -%}
        {%- set run.collection = plan.collection -%}
        {%- set run.view = plan.view -%}
        {%- set run.repaired = run.repaired or plan.repaired -%}
        {%- if plan.idle -%}
            {%- set run.result = trueup._outcome_of_batches(progress.batches, plan) if progress.batches
                else {'code': 'NOOP', 'message': plan.idle} -%}
        {%- elif trueup._var('trueup_read_only') -%}
            {%- set run.result = trueup._ensure_plan_table(plan) -%}
        {%- else -%}
            {%- call statement('main') -%}
{{ trueup._commit_sql(plan.collection, plan) }}
            {%- endcall -%}
            {%- set written = trueup._get_written_batch(plan, run.attempt) -%}
            {%- if written is none -%}
                {%- set run.attempt = run.attempt + 1 -%}
                {%- set run.rest = none -%}
                {%- do progress.update({'until': none}) -%}
            {%- else -%}
                {%- do progress.batches.append(written) -%}
                {%- do progress.update({'until': plan.until}) -%}
                {%- set run.rest = plan.rest -%}
                {%- set run.result = none if plan.rest or plan.is_cut
                    else trueup._outcome_of_batches(progress.batches, plan) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set forgotten = trueup._ensure_tombstones_forgotten(run.collection)
        if run.result.code == 'OK' and not trueup._var('trueup_read_only') -%}
    {%- if forgotten -%}
        {%- set run.result = dict(run.result, message=run.result.message ~ '; ' ~ forgotten) -%}
    {%- endif -%}
    {%- if run.repaired -%}
        {%- set run.result = dict(run.result, code='OK', message=run.repaired ~ '; ' ~ run.result.message) -%}
    {%- endif -%}
    {%- do trueup._report_outcome(run.result) -%}

    {#- 3. Make the view, and set grants. -#}
    {%- if not trueup._var('trueup_read_only') -%}
        {%- do trueup._ensure_view(run.collection, run.view, trueup._text_of(compiled_code)) -%}
        {%- for relation in [run.collection.view, run.collection.store] -%}
            {%- do apply_grants(relation, config.get('grants'), should_revoke=True) -%}
        {%- endfor -%}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [run.collection.view]}) }}
{% endmaterialization %}


{#-
    The first look, before a run asks for any column, as a dict: the `newest` batch, the `properties` of the store, whether every
    commit to it `is_ours`, the `log_properties` (none if the model reads no log that trueup knows), and `is_idle`, whether there is
    nothing to do as far as one can tell without the columns of the log. Empty without a store and its view, in a dry run, and with
    `--full-refresh`.
-#}
{% macro _get_first_look(query) -%}
    {%- set store, view = trueup._store_of(this), load_relation(this) -%}
    {%- set there = load_relation(store) -%}
    {%- if should_full_refresh() or trueup._var('trueup_read_only') or view is none or view.type != 'view' or there is none -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set newest = trueup._get_newest_batch({'has_store': true, 'store': store}, has_commits=there.is_iceberg) -%}
    {%- set log = trueup._log_of_one_model(query) -%}
    {%- set properties = trueup._get_store_properties(store) -%}
    {%- set is_ours = trueup._get_is_store_ours(store, properties, newest) -%}
    {%- set log_properties = trueup._get_properties(log) if log -%}
    {%- set text, position = trueup._text_of(query), newest.get('position') or {} -%}
    {%- set every = trueup._given_options(config.get('meta')).get('verify', 'ancestry') -%}
    {#- A run that was killed after its commit has not made the view of its columns. -#}
    {%- set mark = trueup._view_mark(text, newest.get('given')) -%}
    {%- set is_same = newest.get('text') == text and properties.get('trueup.view', '').startswith(mark) -%}
    {%- set is_sure = log and position and is_same and is_ours and every == 'ancestry' and not position.get('seen')
        and not newest.get('doubt') and not newest.get('slices') and not trueup._appended_rows_obstacle(log_properties) -%}
    {{ return({
        'newest': newest, 'properties': properties, 'is_ours': is_ours, 'log_properties': log_properties or none,
        'is_idle': is_sure and trueup._get_snapshot(log, log_properties) == position.snapshot,
    }) }}
{%- endmacro %}


{#- Ends a run that has nothing to do. -#}
{% macro _report_up_to_date(newest) -%}
    {%- do trueup._report_outcome({'code': 'NOOP', 'message': 'up to date at batch ' ~ newest.seq}) -%}
    {%- set relations = [this.incorporate(type='view'), trueup._store_of(this)] -%}
    {%- for relation in relations -%}
        {%- do apply_grants(relation, config.get('grants'), should_revoke=True) -%}
    {%- endfor -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': relations[:1]}) }}
{%- endmacro %}


{#-
    What this run is going to commit, as a dict: the fields that `_changes_select` reads, the `collection` with the columns
    of its store, and `idle`, why there is nothing to do. Unless the run is a dry one, it makes the store if there is none,
    and repairs it if it is damaged.

    `rest` is the part of the log that an earlier batch of this run has left, with the order at which it begins (`cut`); none
    for the first batch. It ends where the first batch has looked, so that nothing that arrives meanwhile is left out.

    `progress` has the `batches` that this run has written, and `until`, the snapshot of the log up to which it reads: none if the
    run has not looked yet, or another run was first.
-#}
{% macro _ensure_batch_plan(collection, query, rest, look, progress) -%}
    {%- set is_dry = trueup._var('trueup_read_only') -%}
    {%- if not collection.has_store and not is_dry -%}
        {%- do run_query(trueup._create_store_sql(collection, {'run': invocation_id})) -%}
        {%- set collection = dict(collection, has_store=true) -%}
    {%- endif -%}
    {%- set stand = trueup._ensure_stand(collection, is_dry, look) -%}
    {%- set collection, newest = stand.collection, stand.newest -%}
    {%- set order = trueup._order_of(collection, query) -%}
    {%- do trueup._require_same_order_as_before(collection, newest, order) -%}
    {%- set code = trueup._code_of(collection, query) -%}
    {%- set recoded = newest.seq > 0 and newest.code not in [code, 'adopted'] -%}
    {%- set input_upper = trueup._get_input_upper(collection) -%}
    {%- set part = rest if rest
        else trueup._get_new_part(collection, query, newest, code, look.get('log_properties'), progress.until) if collection.is_log
        else {'rows': query, 'position': none, 'is_new': true, 'is_whole': true, 'is_pinned': false, 'epochs': []} -%}
    {%- set is_raised = part.epochs != newest.get('epochs', []) -%}
    {%- set now = trueup._get_store_collection(trueup._get_columns(trueup._step_marker('check') ~ part.rows))
        if part.is_new and part.position and not rest and not look.get('log_properties') else collection -%}
    {%- if now.given_types != collection.given_types -%}
        {#- The log has got other columns since this run has looked at them, and its new rows may have values there. -#}
        {{ return(trueup._ensure_batch_plan(dict(now, has_store=collection.has_store), query, rest, {}, progress)) }}
    {%- endif -%}
    {%- set accepts = newest.get('doubt') and trueup._var('trueup_approve') == 'orders' -%}
    {%- if not part.is_new and (stand.is_foreign or accepts) -%}
        {#-
            Somebody else has written to the store and changed nothing, or a person says that the orders are right. A batch
            without commands keeps that.
        -#}
        {%- set part = dict(part, rows='select * from ' ~ trueup._subquery(query) ~ ' where false', is_new=true) -%}
    {%- endif -%}
    {%- if rest -%}
        {%- set part = dict(part, rows=trueup._rows_from_cut_select(collection, part.rows, rest.cut)) -%}
    {%- endif -%}
    {%- set facts = trueup._get_facts(collection, part, newest) if part.is_new else {} -%}
    {%- set ticks = trueup._ticks_of_batch(collection, newest, part, facts, input_upper) if part.is_new else none -%}
    {%- if ticks -%}
        {%- set part = dict(
            part, rows=trueup._rows_of_ticks_select(part.rows, ticks),
            position=trueup._position_of_ticks(part.position, ticks, none if part.is_whole else newest.get('position'))
        ) -%}
    {%- endif -%}
    {%- if ticks and ticks.has_open and collection.has_place -%}
        {%- set facts = dict(facts, places=trueup._get_facts(collection, part, newest).places) -%}
    {%- endif -%}
    {%- set places = part.places or facts.get('places') -%}
    {%- if not part.is_pinned and collection.options.null_order == 'arrival' -%}
        {%- set part = dict(part, rows=trueup._rows_before_places_select(part.rows, places)) -%}
    {%- endif -%}
    {%- set next_cut = facts.get('cut') -%}
    {%- set next_rest = dict(part, cut=next_cut, places=places) if next_cut -%}
    {%- if next_cut -%}
        {#- The rest is read by the next batch of this run, so this one does not move the position. -#}
        {%- set places = newest.get('places') -%}
        {%- set part = dict(
            part, rows=trueup._rows_from_cut_select(collection, part.rows, next_cut, is_before=true),
            position=none if part.is_whole else newest.get('position')
        ) -%}
        {%- if ticks and fromjson(next_cut)._1 < ticks.upper_number -%}
            {%- set end = [fromjson(next_cut)._1, ticks.lower_number] | max -%}
            {%- do ticks.update({'upper': trueup._bigint(end), 'upper_number': end}) -%}
        {%- endif -%}
    {%- endif -%}
    {%- set nothing = not part.is_new and not is_raised
        or facts.commands == 0 and not part.position and not part.slices and not stand.is_foreign and not recoded
        or not stand.is_foreign and ticks and ticks.is_idle
        or not stand.is_foreign and not recoded and not rest and facts.get('log_sum')
        and facts.log_sum == newest.get('log_sum') and (not ticks or ticks.upper_number == newest.get('upper')) -%}
    {%- if nothing -%}
        {{ return({
            'collection': collection, 'repaired': stand.repaired, 'idle': 'up to date at batch ' ~ newest.seq,
            'view': stand.properties.get('trueup.view'),
        }) }}
    {%- endif -%}
    {%- do trueup._require_ordered_truncates(collection, facts) -%}
    {%- set new_truncates = facts.truncates > 0 or facts.get('ended') is not none -%}
    {%- set reads_all = new_truncates or not collection.is_log -%}
    {%- set since = newest.seq + 1 if recoded else newest.get('since', 0) -%}
    {%- set cause = (newest.get('slices') or {}).get('cause') if not recoded
        else 'schema_change' if newest.columns != trueup._column_note(collection) else 'code_change' -%}
    {#- To decode commands once more for a filter pays only if the store has many more rows. A repair does not count them. -#}
    {%- set is_decoded = '_command.place' in query -%}
    {%- set plan = {
        'collection': collection,
        'repaired': stand.repaired,
        'idle': none,
        'view': stand.properties.get('trueup.view'),
        'rows': part.rows,
        'rest': next_rest or none,
        'is_cut': part.is_cut or ticks.is_cut,
        'until': part.until or none,
        'earlier': trueup._earlier_batches(progress.batches),
        'is_after_approved': progress.batches != [],
        'moves': (facts.get('moves') or 0) > 0,
        'inherits': (facts.get('lacking') or 0) > 0,
        'seq': newest.seq + 1,
        'ts': ticks.upper_number - 1 if ticks
            else [trueup._milliseconds(modules.datetime.datetime.now(modules.pytz.utc)), newest.ts + 1] | max,
        'ticks': ticks,
        'since': since,
        'cause': cause,
        'has_truncates': new_truncates or newest.get('truncated') is not none,
        'new_truncates': new_truncates,
        'truncated': newest.get('truncated'),
        'ended': facts.get('ended'),
        'has_unordered': facts.unordered > 0 or newest.get('order_errors', 0) > 0,
        'places': newest.get('places'),
        'is_sliced': (newest.get('slices') or part.slices) and true,
        'arrives': facts.get('again') is not none and facts.unordered + facts.again > 0,
        'reads_all': reads_all,
        'is_dry': is_dry,
        'again': facts.get('again') or 0,
        'replayed': 0 if next_cut else facts.get('replayed') or 0,
        'filter': (facts.filter if facts.commands <= 10000 else trueup._get_filter(collection, part, facts.commands))
            if part.is_pinned and not reads_all and newest.seq > 0 and facts.commands <= 1000000 and not facts.get('moves')
            and (facts.commands <= 10000 or not is_decoded or (newest.get('statistics') or {}).get('records_indexed', 0) > 20 * facts.commands)
            else none,
        'notes': dict({'lower': ticks.lower_number, 'upper': ticks.upper_number} if ticks else {}, **{
            'run': invocation_id,
            'base': trueup._get_snapshot(collection.store, stand.properties) if collection.has_store else none,
            'at': run_started_at.timestamp() | int,
            'code': code,
            'text': trueup._text_of(query),
            'given': local_md5(tojson(collection.given_types)),
            'query': query if newest.get('code') != code else none,
            'columns': trueup._column_note(collection),
            'order': order,
            'order_type': collection.order_type,
            'since': since,
            'position': part.position,
            'log_sum': none if next_cut else facts.get('log_sum'),
            'greatest': facts.get('greatest_order') or newest.get('greatest'),
            'forgotten': newest.get('forgotten'),
            'forgotten_at': newest.get('forgotten_at'),
            'snapshots': facts.get('snapshots') or newest.get('snapshots'),
            'places': places or none,
            'has_rest': true if next_cut else none,
        }),
        'reads_again': part.is_whole,
        'forgotten': newest.get('forgotten'),
    } -%}
    {%- set doubt = trueup._get_doubt(collection, query, plan, facts, newest) -%}
    {%- do plan.notes.update({
        'epochs': part.epochs,
        'slices': dict(part.slices, cause=cause) if part.slices else none,
        'doubt': dict(doubt, seq=plan.seq, **{'from': (newest.get('position') or {}).get('snapshot')}) if doubt
            else none if accepts or is_raised else newest.get('doubt'),
    }) -%}
    {{ return(dict(plan, doubt=doubt)) }}
{%- endmacro %}


{#-
    The option `input_upper` as a number, before anybody looks at the log: then all commands below it are there. None if the
    option is not set, or if it asks for the ticks of the log.
-#}
{% macro _get_input_upper(collection) -%}
    {%- set given = collection.options.input_upper -%}
    {%- if given is none or 'log_upper' in given -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set subject = 'Option `input_upper` of ' ~ collection.name -%}
    {{ return(run_query(trueup._step_marker('check') ~ 'select ' ~ trueup._tick_expr(given, subject)).rows[0][0]) }}
{%- endmacro %}


{#-
    Where the store stands, as a dict: the `collection` with the columns of its store, the `newest` batch, the `properties`
    of the store, whether somebody else has written to it (`is_foreign`), and what was `repaired`, in words. It looks again
    if another run was first while it repaired the store.
-#}
{% macro _ensure_stand(collection, is_dry, look={}, attempt=1) -%}
    {%- if not collection.has_store -%}
        {{ return({
            'collection': collection, 'newest': trueup._get_newest_batch(collection), 'properties': {},
            'is_foreign': false, 'repaired': none,
        }) }}
    {%- endif -%}
    {%- set stored = trueup._get_columns('select * from ' ~ collection.store) -%}
    {#- The batch before the snapshot: so no batch that this run does not know lies before its base. -#}
    {%- set newest = look.newest if look else trueup._get_newest_batch(collection) -%}
    {%- set properties = look.properties if look else trueup._get_store_properties(collection.store) -%}
    {%- set followed = trueup._followed_store(collection, stored, newest) -%}
    {%- for statement in followed.statements if not is_dry -%}
        {%- do run_query(statement) -%}
    {%- endfor -%}
    {%- set collection = followed.collection -%}
    {%- set is_ours = look.is_ours if look else trueup._get_is_store_ours(collection.store, properties, newest) -%}
    {%- set every = collection.options.verify -%}
    {%- set is_due = not is_ours or every == 'always' or every is integer and newest.seq % every == 0 -%}
    {%- set repaired = none -%}
    {%- if not is_dry and (is_due or should_full_refresh() and newest.seq > 0) -%}
        {%- set repaired = trueup._ensure_repaired(collection, newest, properties, rebuilds_all=should_full_refresh()) -%}
    {%- endif -%}
    {%- if repaired -%}
        {%- set before, newest = newest, trueup._get_newest_batch(collection) -%}
        {%- if newest.get('run') != invocation_id or newest.seq != before.seq + 1 -%}
            {%- do trueup._require_another_try(collection, newest, attempt) -%}
            {{ return(trueup._ensure_stand(collection, is_dry, attempt=attempt + 1)) }}
        {%- endif -%}
        {%- set properties = trueup._get_store_properties(collection.store) -%}
    {%- endif -%}
    {{ return({
        'collection': collection, 'newest': newest, 'properties': properties, 'repaired': repaired or none,
        'is_foreign': not is_ours and not repaired,
    }) }}
{%- endmacro %}


{#-
    With `--full-refresh` a run rebuilds the current rows from the history. Only with the var `trueup_rebase`, too, it drops
    the store, and the collection begins again from its log, after the rows of a table that it has adopted.
-#}
{% macro _ensure_rebased(collection) -%}
    {%- if should_full_refresh() and trueup._var('trueup_rebase') and collection.has_store -%}
        {%- if trueup._var('trueup_read_only') -%}
            {%- do trueup._raise_error(
                'A rebase', 'a run that writes', 'var trueup_read_only: true',
                'Leave out the var trueup_read_only or the var trueup_rebase.'
            ) -%}
        {%- endif -%}
        {%- do trueup._get_store_properties(collection.store) -%}
        {%- do collection.update({'adopts_again': trueup._get_adopts_again(collection)}) -%}
        {%- do run_query(trueup._step_marker('drop') ~ ' drop table ' ~ collection.store) -%}
        {%- do collection.update({'has_store': false}) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if the log has a truncate without an order: nobody can know which rows it deletes. -#}
{% macro _require_ordered_truncates(collection, facts) -%}
    {%- set scope = collection.options.truncate_scope -%}
    {%- if facts.get('bad_truncates') -%}
        {%- do trueup._raise_error(
            'Each truncate in the log of ' ~ collection.name, 'a command with an order that is not ahead of the clock'
            ~ (', and with a value in ' ~ (scope | join(', ')) if scope),
            facts.bad_truncates ~ ' without one, or more than a day ahead',
            'Nothing is written. trueup cannot know which rows such a truncate deletes. Correct `sequence_by` or `truncate_when`'
            ~ (', or the columns of `truncate_scope`' if scope) ~ '.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    The rows of a part of the log from an order on, or before it. The order is a JSON text. Those without an order come last: a
    command of the same part must not clear their error.
-#}
{% macro _rows_from_cut_select(collection, rows, cut, is_before=false) -%}
select * from {{ trueup._subquery(rows) }}
where {{ 'not ' if is_before }}(_order >= {{ trueup._order_from_json_expr(collection, cut) }} or {{ trueup._lacks_order_expr() }})
{%- endmacro %}


{#- The properties of the store. Raises unless it is the store of this model and keeps two runs apart. -#}
{% macro _get_store_properties(store) -%}
    {%- set properties = trueup._get_isolated_properties(store) -%}
    {%- if properties.get('trueup.owner') != model.unique_id -%}
        {%- do trueup._raise_error(
            'The store of ' ~ model.unique_id, 'a table that this model has made',
            store ~ ', of ' ~ properties.get('trueup.owner', 'somebody else'),
            'Nothing is written. Give one of the two models another alias. If this model was renamed, hand the store over: alter'
            ~ ' table ' ~ store ~ " set tblproperties ('trueup.owner' = '" ~ model.unique_id ~ "')."
        ) -%}
    {%- endif -%}
    {{ return(properties) }}
{%- endmacro %}


{#-
    The batch that this run has written, with the `doubt` of its plan. None if another run was first and this one must look again.
-#}
{% macro _get_written_batch(plan, attempt) -%}
    {#- Another run may have written a later batch by now. -#}
    {%- set newest = trueup._get_newest_batch(plan.collection, up_to=plan.seq) -%}
    {%- if newest.get('run') == invocation_id and newest.seq == plan.seq -%}
        {{ return(dict(newest, doubt=plan.doubt)) }}
    {%- endif -%}
    {%- do trueup._require_another_try(plan.collection, newest, attempt) -%}
    {{ return(none) }}
{%- endmacro %}


{#- Raises if a run that another one has overtaken must not look again. -#}
{% macro _require_another_try(collection, newest, attempt) -%}
    {%- if collection.options.on_conflict == 'fail' or attempt == 4 -%}
        {%- do exceptions.raise_compiler_error(
            'upper mismatch: another run has written batch ' ~ newest.seq ~ ' of ' ~ collection.store
            ~ '; nothing of this run is written; run again'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Makes the view, unless it is there as it must be. `known` is what the store says of it: a hash, which is written after the
    view was made, so that a run that is killed in between leaves no old view behind.
-#}
{% macro _ensure_view(collection, known, text) -%}
    {%- set sql, there = trueup._create_view_sql(collection), load_relation(collection.view) -%}
    {#- A view keeps the types that its columns had when it was made. -#}
    {%- set hash = local_md5(sql ~ tojson(trueup._column_note(collection))) -%}
    {%- set mark = trueup._view_mark(text, local_md5(tojson(collection.given_types))) ~ hash -%}
    {%- if there is none or there.type != 'view' or not (known or '').endswith(hash) or should_full_refresh() -%}
        {%- do run_query(sql) -%}
    {%- endif -%}
    {%- if mark != known -%}
        {%- do run_query(
            trueup._step_marker('alter') ~ ' alter table ' ~ collection.store ~ " set tblproperties ('trueup.view' = '" ~ mark ~ "')"
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- What the store says of its view, before a hash of its SQL: by which text of the model and from which columns it was made. -#}
{% macro _view_mark(text, given) -%}
    {{ return(text ~ '-' ~ given ~ '-') }}
{%- endmacro %}


{#-
    A dry run: the changes that the commit would make, in a table of this invocation. Nothing else is written.
-#}
{% macro _ensure_plan_table(plan) -%}
    {%- set collection = plan.collection -%}
    {%- set table = collection.store.incorporate(path={
        'identifier': collection.store.identifier ~ '_plan_' ~ invocation_id[:8]
    }) -%}
    {%- call statement('main') -%}
{{ trueup._create_table_sql(table, trueup._changes_select(collection, plan), replace=true) }}
    {%- endcall -%}
    {%- set batch = run_query(
        "select regexp_replace(_batch, '\"certificate\":.*$', '\"certificate\":[]}') from " ~ table ~ " where _kind = 'batch'"
    ).rows[0][0] -%}
    {%- set notes = fromjson(batch) -%}
    {{ return({
        'code': 'OK', 'message': 'a dry run: batch ' ~ plan.seq ~ ' would be ' ~ trueup._batch_message(notes.statistics, collection.is_log)
            ~ '; the changes are in ' ~ table ~ ', and ' ~ notes.plan ~ ' approves them',
    }) }}
{%- endmacro %}
