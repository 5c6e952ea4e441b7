{#-
    Examines a collection. It says in plain words what is wrong, and what to run next. It only reads.

    An operation: `dbt run-operation trueup.doctor --args '{collection: files}'`. It reads the whole changelog
    and the whole state once. It logs each check when it is done, because a query may fail: then the lines
    before the error say what is sound. Returns the checks.
-#}
{% macro doctor(collection) -%}
    {%- set checks = trueup._report_all_checks(trueup._get_examined_tables(collection)) -%}
    {%- set wrong_count = checks | selectattr('next_step') | list | length -%}
    {%- do log(
        collection ~ (' is well.' if not wrong_count else ' needs attention: ' ~ wrong_count
        ~ (' check fails.' if wrong_count == 1 else ' checks fail.')), info=true
    ) -%}
    {{ return(checks) }}
{%- endmacro %}


{#- Logs checks, one line each, and a second line for the next step. Returns them. -#}
{% macro _report_checks(checks) -%}
    {%- for check in checks -%}
        {%- do log(('  WRONG  ' if check.next_step else '  ok     ') ~ check.text, info=true) -%}
        {%- if check.next_step -%}
            {%- do log('         Next: ' ~ check.next_step, info=true) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(checks) }}
{%- endmacro %}


{#- One check: what was found, and the next step if something is wrong. -#}
{% macro _check_result(text, next_step=none) -%}
    {{ return({'text': text, 'next_step': next_step}) }}
{%- endmacro %}


{#-
    What the doctor knows of a collection: the fields of `_keyed_collection`; its tables by role, none for a table that
    does not exist; and its `options`, as they are given. `source` is the view of the commands, none for a collection by
    a SELECT; `source_role` is the end of the name of the model that defines the rows.
-#}
{% macro _get_examined_tables(collection) -%}
    {%- set tables = dict(
        trueup._keyed_collection(collection, trueup._key_of_collection(collection)),
        source=none, source_role=trueup._source_role_of(collection), options={}
    ) -%}
    {%- for role in ['changelog', 'state', 'batch'] -%}
        {%- do tables.update({role: load_relation(
            trueup._named_relation(collection, collection ~ '_' ~ role, 'doctor')
        )}) -%}
    {%- endfor -%}
    {%- for model in trueup._enabled_models(collection ~ '_commands') -%}
        {%- do tables.update({'source': trueup._relation_of_node(model)}) -%}
    {%- endfor -%}
    {%- for model in trueup._enabled_models(collection ~ '_batch') -%}
        {%- do tables.update({'options': trueup._given_options(model.config.meta)}) -%}
    {%- endfor -%}
    {{ return(tables) }}
{%- endmacro %}


{#-
    Logs and returns all checks of a collection, in the order in which to repair. After a fault that makes the
    other tables unreadable there are no more checks. The log comes last: its view is code of the user.
-#}
{% macro _report_all_checks(tables) -%}
    {%- if not tables.changelog or not tables.batch -%}
        {%- set missing = [] -%}
        {%- for role in ['changelog', 'batch'] if not tables[role] -%}
            {%- do missing.append(tables.name ~ '_' ~ role) -%}
        {%- endfor -%}
        {%- if tables.state and not tables.changelog -%}
            {{ return(trueup._report_checks([trueup._check_result(
                'the changelog is missing, and the state is there: somebody has dropped '
                ~ tables.name ~ '_changelog',
                trueup._lost_changelog_advice(tables.name, tables.source_role)
            )])) }}
        {%- endif -%}
        {{ return(trueup._report_checks([trueup._check_result(
            'it has not run yet, or somebody has dropped ' ~ (missing | join(' and ')),
            'dbt run -s ' ~ tables.name ~ '_' ~ tables.source_role
            ~ '+. If rows were there before, restore the tables from a backup first.'
        )])) }}
    {%- endif -%}
    {%- set unreadable = trueup._get_format_checks(tables) or trueup._get_widening_checks(tables)
        or trueup._get_column_checks(tables) or trueup._get_key_checks(tables) -%}
    {%- if unreadable -%}
        {{ return(trueup._report_checks(unreadable)) }}
    {%- endif -%}
    {%- set last = run_query(trueup._last_batch_select(tables.changelog)).rows[0].dict() -%}
    {%- set tables = dict(tables, last=last) -%}
    {{ return(
        trueup._report_checks(trueup._get_setting_checks(tables))
        + trueup._report_checks(trueup._get_certificate_checks(tables))
        + trueup._report_checks(trueup._get_state_checks(tables))
        + trueup._report_checks(trueup._get_staged_checks(tables))
        + trueup._report_checks(trueup._get_leftover_checks(tables))
        + trueup._report_checks(trueup._get_log_checks(tables))
    ) }}
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
