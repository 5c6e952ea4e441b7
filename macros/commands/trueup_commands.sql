{#-
    The view of the commands. A materialization of its own, because only here, before the view
    is made, can a bad key or column be refused by name.
-#}
{% materialization trueup_commands, adapter='spark' %}
    {%- set target_relation = this.incorporate(type='view') -%}
    {%- do trueup._require_whole_run() -%}
    {%- set unique_key = trueup._unique_key('commands') -%}

    {{ run_hooks(pre_hooks) }}

    {%- do trueup._require_log_columns(compiled_code, unique_key) -%}
    {#- Our own columns come last, and `_ts` is the first of them. -#}
    {%- set columns = trueup.get_columns(compiled_code) | reverse | list -%}
    {%- set own_count = (columns | map(attribute='name') | list).index('_ts') + 1 -%}
    {%- do trueup._require_user_columns((columns | reverse | list)[:-own_count]) -%}

    {%- call statement('main') -%}
        {{ trueup._mark('create') }}
        {{ get_create_view_as_sql(target_relation, sql) }}
    {%- endcall -%}

    {%- do apply_grants(target_relation, config.get('grants'), should_revoke=True) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#- Raises unless the log that the select reads has the key columns, and what a macro adds to it once. -#}
{% macro _require_log_columns(commands, unique_key) -%}
    {%- set log = commands.split(trueup._log_ends_here())[0] ~ ' select * from log' -%}
    {%- set found = trueup.get_columns(log) | map(attribute='name') | list -%}
    {%- set lower_case = found | map('lower') | list -%}
    {%- for name in unique_key if name | lower not in lower_case -%}
        {%- do trueup._refuse(
            '`trueup.commands` in ' ~ model.name ~ ': each column of config `unique_key`',
            'a column of the log (' ~ (found | join(', ')) ~ ')', name
        ) -%}
    {%- endfor -%}
    {#- Nothing else can tell: the macro adds them to columns that it does not know. -#}
    {%- for name in ['snapshot_ts', 'is_absent'] if lower_case.count(name) > 1 -%}
        {%- do trueup._refuse(
            trueup._argument('snapshot_commands', 'relation') ~ ' in ' ~ model.name,
            'without columns of the names that it adds, snapshot_ts and is_absent', name,
            'Rename it in the relation.'
        ) -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    The columns of a select: a list of `name` and `type`. `describe query`, because the rows of
    `describe table` mix columns with headings that begin with `#`, which a column's name may too.
-#}
{% macro get_columns(select) -%}
    {%- set columns = [] -%}
    {%- for row in run_query('describe query ' ~ select) -%}
        {%- do columns.append({'name': row[0], 'type': row[1]}) -%}
    {%- endfor -%}
    {%- for column in columns if '... ' in column.type -%}
        {%- do column.update({'type': trueup._whole_type(select, column.name)}) -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro %}


{#- The type of a column of a select, of which `describe` leaves out fields from the 26th on. -#}
{% macro _whole_type(select, name) -%}
    {%- set query -%}
select typeof(described.{{ trueup._quote(name) }})
from (values (0)) as one
left join (
    {{ select }}
) as described on false
    {%- endset -%}
    {{ return(run_query(query).rows[0][0]) }}
{%- endmacro %}
