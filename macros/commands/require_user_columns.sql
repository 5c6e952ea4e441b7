{#-
    Names that are ours: the columns of the commands and the shard and, below, those that stand
    beside a user's column on the way from one to the other. A user's column may not begin with one
    of them.
-#}
{% macro _own_columns() -%}
    {{ return([
        '_ts', '_order', '_op', '_error', '_error_key', '_diff', '_cause', '_kind',
        '_seq', '_lower', '_upper', '_batch_id', '_statistics', '_certificate', '_digest', '_purged',
        '_unchanged', '_unchanged_value', '_old_key', '_partition', '_offset',
        '_value', '_hash', '_step', '_command', '_prior', '_is_', '_was_', '_last', '_applied',
        '_segment', '_known', '_widening', '_missing', '_carrier', '_net_', '_first', '_positions',
        '_next_', '_previous', '_tie', '_persisted', '_desired', '_after_batch_id', '_match',
    ]) }}
{%- endmacro %}


{#- Raises for a key or value column with a name of ours, or of a type that has no equality. -#}
{% macro _require_user_columns(columns, source=none) -%}
    {%- set subject = source or '`trueup.commands` in ' ~ model.name -%}
    {%- set subject = subject ~ ': a key or value column' -%}
    {%- set place = source or 'the relation that `trueup.commands` reads' -%}
    {%- for column in columns -%}
        {%- for own in trueup._own_columns() if column.name.lower().startswith(own) -%}
            {%- do trueup._refuse(
                subject, "named other than trueup's own columns, which begin with " ~ own,
                column.name, 'Rename it in ' ~ place ~ '.'
            ) -%}
        {%- endfor -%}
        {%- if '${' in column.name or '${' in column.type -%}
            {%- do trueup._refuse(
                subject, 'named without `${`, which Spark replaces in SQL text, and so its fields',
                column.name ~ ' ' ~ column.type, 'Rename it in ' ~ place ~ '.'
            ) -%}
        {%- endif -%}
        {%- set incomparable = modules.re.search('(^|[:<])(map<|variant($|[,>]))', column.type) -%}
        {%- if incomparable -%}
            {%- do trueup._refuse(
                subject, 'of a type that can be compared; maps and variants cannot',
                column.name ~ ' ' ~ column.type,
                'Turn it into a string with to_json, or into an array of structs.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- Raises where the column of inline errors is already a column of the collection. -#}
{% macro _require_free_name(inline_errors, columns) -%}
    {%- set names = columns | map(attribute='name') | list -%}
    {%- if inline_errors and inline_errors | lower in names | map('lower') -%}
        {%- do trueup._refuse(
            'Option `inline_errors` in `meta.trueup` of ' ~ model.name,
            'a name that no key or value column has (' ~ (names | join(', ')) ~ ')', inline_errors
        ) -%}
    {%- endif -%}
{%- endmacro %}
