{#-
    Which keys a run with `late: correct` compares. A dict:

    - `extent`: `all`, `late` (the keys of late commands), or none
    - `commands`: the relation with all commands of these keys
    - `is_second`: whether the comparison before this one has found differences, too
    - `noted`: properties of the table of corrections that must outlive this comparison. Iceberg keeps the properties
      of a table that is replaced, Delta does not

    If a run reads only what is new in the log, only late commands can make a desired row differ from the
    persisted row: the code is the same, and no settled command was changed. So it compares the keys of the
    late commands. It also compares all keys in these cases:

    - The collection is by a SELECT: it has no log that says what is new.
    - This run has healed the state.
    - The run reads the whole log.
    - Nobody knows how many commands came late, because the log has lost commands.
    - The code changed since the last batch, or other code than that of this run made the corrections for the next one.
    - The option `compare` or the var `trueup_compare` asks for it. After a comparison that `compare` asked for and that
      found differences, the next run compares all keys once more.
    - The table of corrections is missing. The comparison makes it again, for the batch to read.
    - Commands came late, and a comparison of all keys was made after the last batch: no batch has written its
      corrections yet.
    - Commands came late, and commands may touch keys that they do not name: by a truncate, or by unchanged values
      from another key.
    - Commands came late, and the columns of the log changed since its last commit.
-#}
{% macro _ensure_comparison_scope(collection, plan, healed) -%}
    {%- set no_keys = {'extent': none, 'commands': none, 'is_second': false, 'noted': {}} -%}
    {%- if collection.options.late != 'correct' -%}
        {{ return(no_keys) }}
    {%- elif healed or collection.is_by_select or plan.whole_log_reason is not none or plan.late_dropped is none
            or plan.definition != plan.settled_definition or trueup._var('trueup_compare')
            or load_relation(collection.corrections) is none -%}
        {{ return(trueup._ensure_scope_of_all_keys(collection, plan)) }}
    {%- endif -%}
    {%- set is_scheduled = collection.options.compare != 'never' -%}
    {%- set last = trueup._get_comparison(collection.corrections) -%}
    {%- if trueup._is_of_other_code(plan, last) -%}
        {{ return(trueup._ensure_scope_of_all_keys(collection, plan)) }}
    {%- elif not is_scheduled and plan.late_dropped == 0 -%}
        {{ return(no_keys) }}
    {%- endif -%}
    {%- set is_second = last.get('trueup.compares_again') == 'true' -%}
    {%- if is_scheduled and (
        is_second or trueup._is_comparison_due(collection.options.compare, plan.last_seq, last)
    ) -%}
        {{ return(dict(trueup._ensure_scope_of_all_keys(collection, plan), is_second=is_second)) }}
    {%- elif plan.late_dropped == 0 -%}
        {{ return(no_keys) }}
    {%- endif -%}
    {%- set waits = last.get('trueup.after_batch_id') == plan.last_batch_id
        and last.get('trueup.compared_keys') == 'all' -%}
    {%- if waits or plan.has_settled_truncates or trueup._has_carried_values(collection.extras) -%}
        {{ return(trueup._ensure_scope_of_all_keys(collection, plan)) }}
    {%- endif -%}
    {%- set history = trueup._ensure_log_history_view(collection, plan) -%}
    {%- set noted = {} -%}
    {%- for name in ['trueup.compared_seq', 'trueup.compares_again'] if name in last -%}
        {%- do noted.update({name: last[name]}) -%}
    {%- endfor -%}
    {{ return(
        dict(no_keys, extent='late', commands=history, noted=noted) if history
        else trueup._ensure_scope_of_all_keys(collection, plan)
    ) }}
{%- endmacro %}


{#-
    Whether the next batch would take corrections that other code has made: somebody has changed the code, and changed
    it back before a batch was appended.
-#}
{% macro _is_of_other_code(plan, comparison) -%}
    {%- set compared, planned = fromjson(comparison.get('trueup.position', 'null')), plan.position -%}
    {{ return(
        comparison.get('trueup.after_batch_id') == plan.last_batch_id
        and (
            comparison.get('trueup.definition') != plan.definition
            or (compared and planned and compared.code != planned.code)
        )
    ) }}
{%- endmacro %}


{#-
    The scope of a comparison of all keys. In a log with snapshots it ends at the snapshot of the plan, so that it
    sees no newer command: that would be a correction without a late command.
-#}
{% macro _ensure_scope_of_all_keys(collection, plan) -%}
    {%- set commands = collection.source -%}
    {%- if plan.whole_log_reason is not none -%}
        {%- set commands = plan.commands -%}
    {%- elif plan.position is not none and not collection.is_by_select -%}
        {%- set commands = trueup._ensure_log_history_view(collection, plan) or collection.source -%}
    {%- endif -%}
    {{ return({'extent': 'all', 'commands': commands, 'is_second': false, 'noted': {}}) }}
{%- endmacro %}


{#-
    Whether the option `compare` asks for a comparison of all keys after the batch `last_seq`. `comparison` is what
    `_get_comparison` returns.
-#}
{% macro _is_comparison_due(compare, last_seq, comparison) -%}
    {%- set compared_seq = comparison.get('trueup.compared_seq', '-1') | int -%}
    {#- After a rebase the batches begin at 1 again. -#}
    {{ return(
        compare == 'always' or compared_seq > last_seq or last_seq // compare > compared_seq // compare
    ) }}
{%- endmacro %}


{#-
    Notes that all keys were compared after the batch `last_seq`, for the option `compare`. Corrections may be lost,
    for example if another run appends first. So after a comparison with corrections the next run compares all
    keys once more. Only once: late commands may come in every run.
-#}
{% macro _ensure_comparison_noted(collection, scope, correction_count, last_seq) -%}
    {%- if scope.extent == 'all' and collection.options.compare is number and not collection.is_by_select -%}
        {%- do run_query(trueup._set_properties_sql(collection.corrections, {
            'trueup.compared_seq': last_seq,
            'trueup.compares_again': 'true' if correction_count and not scope.is_second else 'false',
        })) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Makes the view `late_keys` of the Spark session: the identities of the commands below the lower in the
    part of the log that the run reads. They are those of the late commands, and perhaps of some that were
    settled in time. All truncates have one identity. The view has it, too, because a truncate belongs to the
    history of each key.
-#}
{% macro _ensure_late_keys_view(collection, plan, columns) -%}
    {%- set commands = trueup._input_select(
        dict(collection, commands=plan.commands), columns, trueup._first_tick_expr(collection.options),
        trueup._session_name(collection.name, 'plan') ~ '.lower'
    ) -%}
    {%- set identity = trueup._column_list(collection.identity) -%}
    {%- set select -%}
select distinct {{ identity }} from {{ trueup._subquery(commands) }}
union all
select {{ 'null, ' * collection.unique_key | length }}'truncate'
    {%- endset -%}
    {%- do trueup._ensure_session_view(trueup._session_name(collection.name, 'late_keys'), select) -%}
{%- endmacro %}


{#- The rows of a relation that belong to the late keys. A key with the same hash belongs to them, too. -#}
{% macro _rows_of_late_keys_select(collection, relation) -%}
select /*+ broadcast(late_keys) */ all_rows.*
from {{ relation }} as all_rows
left semi join {{ trueup._session_name(collection.name, 'late_keys') }} as late_keys
    on {{ trueup._key_hash_expr(collection.identity, 'all_rows') }}
    = {{ trueup._key_hash_expr(collection.identity, 'late_keys') }}
{%- endmacro %}
