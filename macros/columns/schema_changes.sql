{#-
    The differences between the columns of the commands and those of a table. A dict of lists:

    `added`       columns that the table does not have
    `dropped`     columns of the table that the commands do not have: null from now on
    `widened`     columns of a type that holds all values of the table's type, and more
    `changed`     columns of any other type

    Each entry has `name` and `type`. Widened and changed entries also have `old_type`, the type in the
    table.
-#}
{% macro _schema_changes(columns, table_columns) -%}
    {%- set there = {} -%}
    {%- for column in table_columns -%}
        {%- do there.update({column.name | lower: column}) -%}
    {%- endfor -%}
    {%- set here = columns | map(attribute='name') | map('lower') | list -%}
    {%- set changes = {'added': [], 'dropped': [], 'widened': [], 'changed': []} -%}
    {%- for column in columns -%}
        {%- set old = there.get(column.name | lower) -%}
        {%- if old is none -%}
            {%- do changes.added.append(column) -%}
        {%- elif old.type not in [column.type, trueup._stored_type(column.type)] -%}
            {%- set list = 'widened' if trueup._is_wider(column.type, old.type) else 'changed' -%}
            {%- do changes[list].append(
                {'name': old.name, 'type': column.type, 'old_type': old.type}
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for column in table_columns if column.name | lower not in here -%}
        {%- do changes.dropped.append(column) -%}
    {%- endfor -%}
    {{ return(changes) }}
{%- endmacro %}


{#- A changed type in the words of a message. -#}
{% macro _type_change(column) -%}
    {{ return(column.name ~ ', which was ' ~ column.old_type ~ ' and is ' ~ column.type) }}
{%- endmacro %}


{#-
    A type as Iceberg stores it: it has no integer type smaller than int. Delta has. A field of a struct may have the
    name of a type; a colon follows it.
-#}
{% macro _stored_type(type) -%}
    {{ return(modules.re.sub('\\b(tinyint|smallint)\\b(?!:)', 'int', type)) }}
{%- endmacro %}


{#- Whether a type holds all values of an older type exactly. -#}
{% macro _is_wider(type, old_type) -%}
    {%- set pairs = [
        ('smallint', 'tinyint'), ('int', 'tinyint'), ('int', 'smallint'), ('bigint', 'tinyint'),
        ('bigint', 'smallint'), ('bigint', 'int'), ('double', 'float'), ('timestamp', 'date'),
    ] -%}
    {%- if (type, old_type) in pairs -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set decimal = '^decimal\\((\\d+),(\\d+)\\)$' -%}
    {%- set new = modules.re.match(decimal, type) -%}
    {%- set old = modules.re.match(decimal, old_type) -%}
    {{ return(
        new is not none and old is not none
        and new.group(2) == old.group(2) and new.group(1) | int > old.group(1) | int
    ) }}
{%- endmacro %}
