{#-
    Names that are ours: first the columns of the commands and the changelog, then those that exist only within
    a statement. The name of a user's column may not begin with one of them.
-#}
{% macro _own_columns() -%}
    {{ return([
        '_ts', '_order', '_op', '_error', '_error_key', '_diff', '_cause', '_kind',
        '_seq', '_lower', '_upper', '_batch_id', '_statistics', '_certificate', '_digest', '_purged',
        '_unchanged', '_unchanged_value', '_old_key', '_partition', '_offset', '_arrived',
        '_value', '_hash', '_step', '_command', '_prior', '_is_', '_was_', '_last', '_applied',
        '_segment', '_known', '_widening', '_missing', '_carrier', '_net_', '_first', '_positions',
        '_next_', '_previous', '_tie', '_persisted', '_desired', '_after_batch_id', '_match',
    ]) }}
{%- endmacro %}


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
