{#-
    What the doctor checks of the form of the tables: who wrote them, and with which columns and key. Each macro
    returns a list of checks.
-#}

{#- Tables of another version of trueup; no check if this version has written them. -#}
{% macro _get_format_checks(tables) -%}
    {%- set known = trueup._statistics_fields() | map(attribute='name') | list -%}
    {%- set names = trueup._get_statistics_names(tables.changelog) -%}
    {%- if names | reject('in', known) | list
            or (trueup._get_format(tables.changelog, names) or 0) > trueup._format_number() -%}
        {{ return([trueup._check_result(
            'a later version of trueup has written ' ~ tables.changelog,
            'install the version of trueup that has written the table.'
        )]) }}
    {%- elif known | reject('in', names) | list -%}
        {{ return([trueup._check_result(
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
            {%- do checks.append(trueup._check_result(
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
    Columns that the changelog and the state do not share; no check if they have the same ones. Certificates depend on
    the names of the columns: with another name, all of them would look damaged.
-#}
{% macro _get_column_checks(tables) -%}
    {%- if not tables.state -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set changes = trueup._schema_changes(
        trueup._get_user_columns(tables.changelog), trueup._get_user_columns(tables.state)
    ) -%}
    {%- set lacking = changes.added | map(attribute='name') | join(', ') -%}
    {%- set foreign = (changes.dropped + changes.changed) | map(attribute='name') | join(', ') -%}
    {%- if lacking and foreign -%}
        {{ return([trueup._check_result(
            tables.changelog ~ ' has ' ~ lacking ~ ', and the state has ' ~ foreign
            ~ ': somebody has renamed a column of one of them',
            'rename it back by alter table. Then call the doctor again.'
        )]) }}
    {%- elif foreign -%}
        {{ return([trueup._check_result(
            'somebody has added or changed a column of ' ~ tables.state ~ ': ' ~ foreign,
            trueup._rebuild_command(tables.name) ~ ' rebuilds it from the changelog.'
        )]) }}
    {%- elif lacking or changes.widened -%}
        {{ return([trueup._check_result(
            tables.state ~ ' does not have the columns of its changelog: '
            ~ (lacking or changes.widened | map(attribute='name') | join(', ')),
            'if no other run is active, ' ~ trueup._run_command(tables)
            ~ ' repairs it. Then call the doctor again.'
        )]) }}
    {%- endif -%}
    {{ return([]) }}
{%- endmacro %}


{#-
    A key that is not the one the changelog was made with; no check if it is. Certificates depend on the key: with
    another one, all of them would look damaged.
-#}
{% macro _get_key_checks(tables) -%}
    {%- set properties, name = trueup._get_properties(tables.changelog), 'trueup.unique_key' -%}
    {%- set given = trueup._column_list(tables.unique_key) -%}
    {%- if name not in properties -%}
        {{ return([trueup._check_result(
            'the table ' ~ tables.changelog ~ ' lacks the property `' ~ name ~ '`: somebody has replaced it',
            'if it is an exact copy of the changelog, and the config is as before, '
            ~ trueup._set_made_with_command(tables.changelog, name, given)
        )]) }}
    {%- elif 'trueup.order' not in properties -%}
        {{ return([trueup._check_result(
            'the table ' ~ tables.changelog ~ ' lacks the property `trueup.order`: somebody has replaced it',
            'the next run that finds commands stops, and prints the statement that sets the property: '
            ~ trueup._run_command(tables)
        )]) }}
    {%- elif not trueup._is_made_with(properties, name, given) -%}
        {{ return([trueup._check_result(
            'the config `unique_key` is ' ~ given ~ ', but ' ~ tables.changelog ~ ' was made with '
            ~ properties[name],
            'only upper and lower case differ: write the key as the changelog has it.'
            if properties[name] | lower == given | lower else
            'put the config back. Or start again from the log: '
            ~ trueup._rebase_command(tables.name, tables.source_role)
        )]) }}
    {%- endif -%}
    {{ return([]) }}
{%- endmacro %}
