{#-
    Examines a collection. It says in plain words what is wrong, and what to do next. It only reads: the whole store once, and
    metadata. Returns the checks: a list of `text` and `next_step`, none if all is well.

    An operation: `dbt run-operation trueup.doctor --args '{collection: orders}'`.
-#}
{% macro doctor(collection) -%}
    {%- set node = trueup._node_of_collection('doctor', collection) -%}
    {%- set store = trueup._store_of(trueup._relation_of_node(node)) -%}
    {%- if load_relation(store) is none -%}
        {%- set checks = [{
            'text': 'there is no table ' ~ store,
            'next_step': 'The collection has not run yet: dbt run -s ' ~ collection ~ '. If rows were there before, restore the'
                ~ ' table from a backup first. If the model was renamed: dbt run-operation trueup.rename.',
        }] -%}
    {%- else -%}
        {%- set properties = trueup._get_properties(store) -%}
        {%- set checks = trueup._property_checks(store, properties, node) -%}
        {%- if not checks | selectattr('next_step') | list -%}
            {%- set read = trueup._get_collection_of_store(store, node) -%}
            {%- set checks = checks + trueup._get_content_checks(read, read.newest, properties)
                + trueup._get_log_checks(read, read.newest) + trueup._get_session_checks(read) -%}
        {%- endif -%}
    {%- endif -%}
    {%- for check in checks -%}
        {%- do log(('  WRONG  ' if check.next_step else '  ok     ') ~ check.text, info=true) -%}
        {%- do log('         Next: ' ~ check.next_step, info=true) if check.next_step -%}
    {%- endfor -%}
    {%- set wrong = checks | selectattr('next_step') | list | length -%}
    {%- set fail = ' check fails.' if wrong == 1 else ' checks fail.' -%}
    {%- do log(collection ~ (' needs attention: ' ~ wrong ~ fail if wrong else ' is well.'), info=true) -%}
    {{ return(checks) }}
{%- endmacro %}


{#- The checks of the properties of a store: whose it is, and whether it keeps two runs apart. -#}
{% macro _property_checks(store, properties, node) -%}
    {%- set owner = properties.get('trueup.owner', 'somebody else') -%}
    {%- set weak = trueup._weak_isolations(properties) -%}
    {{ return([
        {
            'text': store ~ ' is the store of ' ~ owner,
            'next_step': none if owner == node.unique_id
                else 'Give ' ~ node.unique_id ~ ' another alias. If it was renamed: dbt run-operation trueup.rename.',
        },
        {
            'text': 'it does not keep two runs at once apart: ' ~ (weak | join(', ')) if weak else 'it keeps two runs at once apart',
            'next_step': 'alter table ' ~ store ~ " set tblproperties ('" ~ (weak | join("' = 'serializable', '"))
                ~ "' = 'serializable')." if weak else none,
        },
    ]) }}
{%- endmacro %}


{#- The checks of the rows: who has written them, whether they are as certified, and whether they could be repaired. -#}
{% macro _get_content_checks(collection, newest, properties) -%}
    {%- set run = 'dbt run -s ' ~ collection.name ~ ' repairs it, and says what it has done.' -%}
    {%- set of_batch = 'batch ' ~ newest.seq -%}
    {%- set is_ours = trueup._get_is_store_ours(collection.store, properties, newest) -%}
    {%- set damage = trueup._get_damage(collection, collection.store, newest) -%}
    {%- set is_kept = not newest.get('base') or trueup._get_last_own_snapshot(collection, newest, properties) is not none -%}
    {%- set open = run_query('select count(*) from ' ~ collection.store ~ " where _kind = 'error'").rows[0][0] -%}
    {%- set faults = [] -%}
    {%- if damage.history -%}
        {%- do faults.append('its history or its batch rows are damaged') -%}
    {%- endif -%}
    {%- if damage.buckets -%}
        {%- do faults.append(
            'its current rows are wrong in ' ~ (damage.buckets | length) ~ ' of ' ~ trueup._bucket_count() ~ ' buckets of keys'
        ) -%}
    {%- endif -%}
    {{ return([
        {
            'text': 'each commit up to ' ~ of_batch ~ ' is ours' if is_ours else 'somebody else has written to it since ' ~ of_batch,
            'next_step': none if is_ours else 'Look who it was: ' ~ collection.store ~ '.history. Then: ' ~ run,
        },
        {
            'text': faults | join(', and ') or 'its rows and its history are as ' ~ of_batch ~ ' has left them',
            'next_step': none if not faults else run if is_kept else 'Restore the table from a backup.',
        },
        {
            'text': 'the snapshot of ' ~ of_batch ~ (' is there' if is_kept else ' has expired: damage could not be repaired'),
            'next_step': none if is_kept else 'Run the model once. Let snapshots expire by trueup.maintain, which keeps that one.',
        },
        {'text': ('1 key is' if open == 1 else open ~ ' keys are') ~ ' in error', 'next_step': none},
    ]) }}
{%- endmacro %}


{#- The check of the log: whether the next run reads only what is new. -#}
{% macro _get_log_checks(collection, newest) -%}
    {%- set query = run_query(trueup._last_query_select(collection.store)).rows[0][0] -%}
    {%- set log_table = trueup._log_of_one_model(query) if query else none -%}
    {%- set last, slices = newest.get('position'), newest.get('slices') -%}
    {%- if slices -%}
        {{ return([{
            'text': 'the whole log is read in slices of the keys: ' ~ slices.done ~ ' of ' ~ slices.n ~ ' are done',
            'next_step': 'dbt run -s ' ~ collection.name ~ ' goes on with the next one.',
        }]) }}
    {%- endif -%}
    {%- if not log_table or not last -%}
        {{ return([{
            'text': 'each run reads the whole input: it has no snapshots, or the SELECT does more than to read one log',
            'next_step': none,
        }]) }}
    {%- endif -%}
    {%- set properties = trueup._get_properties(log_table) -%}
    {%- set obstacle = trueup._appended_rows_obstacle(properties) -%}
    {%- set operations = none if obstacle else trueup._get_commit_operations(
        log_table, properties, last.get('snapshot') or last.get('seen'), trueup._get_snapshot(log_table, properties), last.at
    ) -%}
    {%- set reason = obstacle if obstacle
        else log_table ~ ' was made again, or has forgotten the snapshot that was read last' if operations is none
        else 'rows of ' ~ log_table ~ ' were overwritten' if 'overwrite' in operations -%}
    {{ return([{
        'text': 'the next run reads the whole log: ' ~ reason if reason else 'the next run reads what is new in ' ~ log_table,
        'next_step': 'Nothing, if that is seldom. Else keep the snapshots of the log longer than the time between two runs.'
            if reason else none,
    }]) }}
{%- endmacro %}


{#- The checks of the session, and of what earlier runs have left. -#}
{% macro _get_session_checks(collection) -%}
    {%- set has_aggregate = trueup._get_has_aggregate('trueup_consolidate') -%}
    {%- set left = [] -%}
    {%- set like = " like '" ~ collection.store.identifier ~ "_plan_*'" -%}
    {%- for row in run_query('show tables in ' ~ collection.store.without_identifier() ~ like).rows -%}
        {%- do left.append(row[1]) -%}
    {%- endfor -%}
    {{ return([
        {
            'text': 'the session has the aggregate trueup_consolidate' if has_aggregate
                else 'the session lacks the aggregate trueup_consolidate: a repair rebuilds rows by GROUP BY',
            'next_step': none,
        },
        {
            'text': (left | length or 'no') ~ ' plan tables of dry runs are left' ~ (': ' ~ (left | join(', ')) if left else ''),
            'next_step': 'Drop them when nobody needs them: they hold rows.' if left else none,
        },
    ]) }}
{%- endmacro %}
