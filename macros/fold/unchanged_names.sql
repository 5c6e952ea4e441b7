{#-
    The columns that a command leaves unchanged, in lower case. The names `left_out` have no effect. These are key
    columns, which `parse_json` names in `absent` if a message lacks them, and columns that `on_schema_change: ignore`
    keeps out of the tables. An unknown name raises.
-#}
{% macro _known_names_expr(values, left_out) -%}
    {%- set names = trueup._literal_list(values | map(attribute='name') | map('lower')) -%}
    {%- set other_names = trueup._literal_list(left_out | map('lower')) -%}
transform(filter(
            coalesce(_unchanged, array()), name -> name is null or lower(name) not in ({{ other_names }})
        ), name -> case
            when lower(name) in ({{ names or 'null' }}) then lower(name)
            else raise_error(concat(
                {{ trueup._literal(trueup._argument('commands', 'unchanged')) }},
                ' must be names of value columns.\nGot: ', coalesce(name, 'null'),
                '\nIf the log has this column now, run the model of the commands, too. Else leave the name out.'
            ))
        end)
{%- endmacro %}


{#- The columns whose text or bytes equal the marker of the source, in lower case. -#}
{% macro _marked_names_expr(values, known) -%}
    {%- set markers = {
        'string': '_unchanged_value', 'binary': 'cast(_unchanged_value as binary)'
    } -%}
    {%- set names = [] -%}
    {%- for column in values if column.type in markers and column.name | lower in known -%}
        {%- do names.append(
            'case when ' ~ trueup._quoted(column.name) ~ ' = ' ~ markers[column.type] ~ ' then '
            ~ trueup._literal(column.name | lower) ~ ' end'
        ) -%}
    {%- endfor -%}
    {{ return('array_compact(array(' ~ (names | join(', ')) ~ '))') }}
{%- endmacro %}
