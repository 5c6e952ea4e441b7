{#-
    Tables that another version of trueup has written. Each progress row carries the number of the format that
    it has. A later version reads the tables of an earlier one: this file adds the fields that `_statistics`
    lacks. They are null in old rows, which means unknown, and a null field does not change a seal. Tables of a
    later version are refused.
-#}

{#- Adds to the changelog and to the staged batch the fields of `_statistics` that they lack. -#}
{% macro _ensure_upgraded(collection) -%}
    {%- for relation in [collection.changelog, collection.batch] -%}
        {%- set names = trueup._get_statistics_names(load_relation(relation)) -%}
        {%- do trueup._require_known_statistics(relation, names) -%}
        {%- set missing = trueup._statistics_fields() | rejectattr('name', 'in', names) | list -%}
        {%- if missing -%}
            {%- do run_query(trueup._add_statistics_sql(relation, missing)) -%}
            {#- What dbt knows of the table is out of date now. It does not replace a table that it knows. -#}
            {%- do adapter.cache_dropped(relation) -%}
            {%- do adapter.cache_added(relation) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    The fields of `_statistics` in a table. dbt has asked for the schemas of all tables at its start. It knows
    none of a table that was created since then.
-#}
{% macro _get_statistics_names(relation) -%}
    {%- set names = trueup._described_statistics(relation.information or '') -%}
    {%- if names -%}
        {{ return(names) }}
    {%- endif -%}
    {%- set query = 'describe query select _statistics.* from ' ~ relation -%}
    {{ return(run_query(query).columns[0].values() | list) }}
{%- endmacro %}


{#- The fields of `_statistics` in the text of `show table extended`, which has one line for each field. -#}
{% macro _described_statistics(information) -%}
    {%- set names = [] -%}
    {%- for line in information.partition('\n |-- _statistics: ')[2].partition('\n |-- ')[0].splitlines() -%}
        {%- if line.startswith(' |    |-- ') -%}
            {%- do names.append(line[10:].partition(':')[0]) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro %}


{#- The statement that adds fields to `_statistics`. Their order must be the same in all tables. -#}
{% macro _add_statistics_sql(relation, missing) -%}
    {%- set all = trueup._statistics_fields() | map(attribute='name') | list -%}
{{ trueup._step_marker('alter') }}
alter table {{ relation }} add columns (
    {%- for field in missing %}
    _statistics.{{ field.name }} {{ field.type }} after {{ all[all.index(field.name) - 1] }}{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- endmacro %}


{#-
    Raises if a later version of trueup has written a changelog. A run that plans checks this anyway. Models and
    operations that do not plan call this macro.
-#}
{% macro _require_known_changelog(changelog) -%}
    {%- set names = trueup._get_statistics_names(load_relation(changelog)) -%}
    {%- do trueup._require_known_statistics(changelog, names) -%}
    {%- do trueup._require_known_format(changelog, trueup._get_format(changelog, names)) -%}
{%- endmacro %}


{#-
    Raises if an earlier version of trueup has written a changelog, and no run has added the fields of `_statistics`
    that this version reads. For operations: they do not change the columns of a table.
-#}
{% macro _require_upgraded(collection, changelog) -%}
    {%- set names = trueup._get_statistics_names(load_relation(changelog)) -%}
    {%- set missing = trueup._statistics_fields() | map(attribute='name') | reject('in', names) | list -%}
    {%- if missing -%}
        {%- do trueup._raise_error(
            'The table ' ~ changelog, 'one with all statistics of this version of trueup',
            'a table of an earlier version, without ' ~ (missing | join(', ')),
            'Nothing is changed. A run adds them: dbt run -s +' ~ collection ~ '. Then call it again.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The highest number of a format in a changelog. Null if the version that wrote it had no such number. -#}
{% macro _get_format(changelog, statistics_names) -%}
    {%- if 'format' not in statistics_names -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(run_query(
        'select max(_statistics.format) from ' ~ changelog ~ " where _kind = 'progress'"
    ).rows[0][0]) }}
{%- endmacro %}


{#- Raises if a table has fields of `_statistics` that this version does not know. -#}
{% macro _require_known_statistics(relation, names) -%}
    {%- set unknown = names | reject('in', trueup._statistics_fields() | map(attribute='name') | list) | list -%}
    {%- if unknown -%}
        {%- do trueup._raise_newer(relation, 'the statistics ' ~ (unknown | join(', '))) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if a batch has a later format. -#}
{% macro _require_known_format(changelog, format) -%}
    {%- if format is not none and format > trueup._format_number() -%}
        {%- do trueup._raise_newer(changelog, 'format ' ~ format) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises because a later version of trueup has written a table. -#}
{% macro _raise_newer(relation, got) -%}
    {%- do trueup._raise_error(
        'The table ' ~ relation, 'written by this version of trueup, whose format is ' ~ trueup._format_number()
        ~ ', or by an earlier one', got, 'Install the version of trueup that has written the table.'
    ) -%}
{%- endmacro %}
