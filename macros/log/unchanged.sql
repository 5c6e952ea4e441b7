{#- The columns that a command leaves unchanged. -#}

{#-
    The names of the value columns that a command leaves unchanged. They are the names that the
    source gives (`unchanged`), and the columns that are null where nulls are ignored. Columns with
    the marker of the source (`unchanged_value`) are found later, in the batch, where types are
    known. None if no command leaves columns unchanged.
-#}
{% macro _unchanged_expr(given, key) -%}
    {%- set lists = [] -%}
    {%- if given.unchanged -%}
        {%- do lists.append('coalesce(cast(' ~ given.unchanged ~ ' as array<string>), array())') -%}
    {%- endif -%}
    {%- if given.unchanged_value is not none -%}
        {%- do lists.append('cast(array() as array<string>)') -%}
    {%- endif -%}
    {%- if given.ignored_nulls -%}
        {%- set names = given.ignored_nulls.names -%}
        {%- do lists.append(trueup._null_names_expr(
            trueup._values_list(given, key, but=names) if given.ignored_nulls.is_except
                else trueup._column_list(names)
        )) -%}
    {%- endif -%}
    {{ return('concat(' ~ (lists | join(', ')) ~ ')' if lists else none) }}
{%- endmacro %}


{#-
    The names of the `columns`, a list of select items, whose value is null. One pass over
    the values as JSON texts does it, so no column has to be known by name. A row that Spark cannot read
    back raises: no names would mean that the command is whole.
-#}
{% macro _null_names_expr(columns) -%}
map_keys(map_filter(
        coalesce(
            from_json(
                to_json(struct({{ columns }}), map('ignoreNullFields', 'false')),
                'map<string, string>',
                map('maxStringLen', '2147483647')
            ),
            raise_error({{ trueup._literal(
                trueup._argument('commands', 'ignore_null_updates')
                ~ ' must be of columns whose values Spark can read back from JSON.\nGot: a command that is too'
                ~ ' large, or nested too deeply.\nName the unchanged columns in the argument `unchanged` instead.'
            ) }})
        ),
        (name, value) -> value is null
    ))
{%- endmacro %}
