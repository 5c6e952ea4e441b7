{#- Raises if a key or value column has one of our names, or a type without equality. -#}
{% macro _require_user_columns(columns, source=none) -%}
    {%- set subject = source or '`trueup.commands` in ' ~ model.name -%}
    {%- set subject = subject ~ ': a key or value column' -%}
    {%- set place = source or 'the relation that `trueup.commands` reads' -%}
    {%- for column in columns -%}
        {%- for own in trueup._own_columns() if column.name.lower().startswith(own) -%}
            {%- do trueup._raise_error(
                subject, "named other than trueup's own columns, which begin with " ~ own,
                column.name, 'Rename it in ' ~ place ~ '.'
            ) -%}
        {%- endfor -%}
        {%- if '${' in column.name or '${' in column.type -%}
            {%- do trueup._raise_error(
                subject, 'named without `${`, which Spark replaces in SQL text, and so its fields',
                column.name ~ ' ' ~ column.type, 'Rename it in ' ~ place ~ '.'
            ) -%}
        {%- endif -%}
        {%- set incomparable = modules.re.search('(^|[:<])(map<|variant($|[,>]))', column.type) -%}
        {%- if incomparable -%}
            {%- do trueup._raise_error(
                subject, 'of a type that can be compared; maps and variants cannot',
                column.name ~ ' ' ~ column.type,
                'Turn it into a string with to_json, or into an array of structs.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    Raises for columns that the tables would take, but that no later run could write:

    - those whose type has no digest, such as `void`, the type of `null as x`;
    - on Delta those with a backquote in their name. Its MERGE does not escape it.
-#}
{% macro _require_storable_columns(columns) -%}
    {%- for column in columns -%}
        {%- do trueup._parsed_type(column.type, column) -%}
        {%- if '`' in column.name and trueup._file_format() == 'delta' -%}
            {%- do trueup._raise_error(
                'A key or value column of a collection on Delta',
                'named without a backquote, because the MERGE of Delta cannot write it', column.name,
                'Nothing is written. Give the column another name in the relation that the commands read, or in the'
                ~ ' SELECT.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    Raises if the collection already has a column with the name for inline errors, or if this is a name by which the
    data tests know a state or a changelog.
-#}
{% macro _require_free_name(inline_errors, columns) -%}
    {%- set names = columns | map(attribute='name') | list -%}
    {%- if inline_errors and inline_errors | lower in ['_kind', '_certificate'] -%}
        {%- do trueup._raise_option_error(
            'inline_errors', 'a name other than _kind and _certificate, which only a state or a changelog has',
            inline_errors
        ) -%}
    {%- endif -%}
    {%- if inline_errors and inline_errors | lower in names | map('lower') -%}
        {%- do trueup._raise_option_error(
            'inline_errors', 'a name that no key or value column has (' ~ (names | join(', ')) ~ ')', inline_errors
        ) -%}
    {%- endif -%}
{%- endmacro %}
