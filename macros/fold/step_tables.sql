{#- Drops the tables that `_ensure_carried_values` wrote, if any. -#}
{% macro _ensure_no_step_tables(extras) -%}
    {%- if trueup._has_carried_values(extras) -%}
        {%- for ending in ['', '_links'] -%}
            {%- do run_query(
                trueup._drop_table_sql(trueup._step_table(ending), trueup._file_format())
            ) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Drops the step tables of failed or killed runs, one day after those runs began. No statement
    takes that long. `made` is the table that those runs were making. With none, it is the model's
    own table.
-#}
{% macro _ensure_no_leftover_step_tables(made=none, file_format=none) -%}
    {%- set made = made or this -%}
    {%- set yesterday = run_started_at - modules.datetime.timedelta(days=1) -%}
    {%- for name, began in trueup._get_step_tables(made).items() -%}
        {%- if began < yesterday.strftime('%Y%m%d%H%M%S') -%}
            {%- do run_query(trueup._drop_table_sql(
                api.Relation.create(schema=made.schema, identifier=name),
                file_format or trueup._file_format()
            )) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- The names of the step tables of all runs that made a table, each with the time when its run began. -#}
{% macro _get_step_tables(made) -%}
    {%- set kept, tables = made.identifier ~ '__kept_', {} -%}
    {%- set form = modules.re.escape(kept | lower) ~ '(\\d{14})_[0-9a-f]{8}(_links)?' -%}
    {%- set found = run_query(
        'show tables in ' ~ made.without_identifier() ~ ' like ' ~ trueup._literal(kept ~ '*')
    ) -%}
    {%- for row in found.rows -%}
        {%- set name = modules.re.fullmatch(form, row[1] | lower) -%}
        {%- if name -%}
            {%- do tables.update({row[1]: name.group(1)}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(tables) }}
{%- endmacro %}


{#-
    The table of steps that a run keeps while it makes this model. Each run has its own table,
    because another run may keep steps of other ticks at the same time.
-#}
{% macro _step_table(ending='') -%}
    {{ return(api.Relation.create(
        schema=this.schema,
        identifier=this.identifier ~ '__kept_' ~ run_started_at.strftime('%Y%m%d%H%M%S') ~ '_'
            ~ invocation_id[:8] ~ ending
    )) }}
{%- endmacro %}
