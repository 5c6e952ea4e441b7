{#-
    Adoption: the var `trueup_adopt` names a table that exists. The first batch of the collection takes the
    rows of this table, and no commands. These rows come into the batch like corrections, with the cause
    `adopted`. The next batch compares them with the log, and its corrections have the cause `drift`.
-#}

{#-
    The table that this run adopts: the var `trueup_adopt`; none without the var. Also none if the collection
    has a batch: then an earlier run has adopted the table, and this run is like any other.
-#}
{% macro _get_adopted_table(collection) -%}
    {%- set name = trueup._var('trueup_adopt') -%}
    {%- if name is none or collection.is_by_select -%}
        {{ return(none) }}
    {%- endif -%}
    {%- if load_relation(collection.changelog) is not none
            and trueup._get_batch_count(collection.changelog).last_seq -%}
        {%- do trueup._require_adopted(collection) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do trueup._require_may_adopt(collection.options, collection.is_by_select) -%}
    {%- do trueup._require_alone(collection.name) -%}
    {%- set schema, _, identifier = name.partition('.') -%}
    {%- set table = load_relation(api.Relation.create(schema=schema, identifier=identifier)) -%}
    {%- if table is none -%}
        {%- do trueup._raise_error(
            'Var `trueup_adopt`', 'a table that exists, with its schema', name,
            'Correct the name, or run `trueup adopt`, which finds the table.'
        ) -%}
    {%- endif -%}
    {{ return(table) }}
{%- endmacro %}


{#- Whether the first batch of a changelog has adopted a table. -#}
{% macro _get_is_adopted(changelog) -%}
    {%- set query -%}
select count(*)
from {{ changelog }}
where _kind = 'progress' and _seq = 1 and _statistics.definition = '{{ trueup._adopted_definition() }}'
    {%- endset -%}
    {{ return(run_query(query).rows[0][0] > 0) }}
{%- endmacro %}


{#- The name that an adoption gives to a table whose name the view needs, as a relation. -#}
{% macro _renamed_table(table) -%}
    {{ return(table.incorporate(path={'identifier': table.identifier ~ '_before_trueup'})) }}
{%- endmacro %}


{#-
    A copy of the collection for the first batch, which adopts a table: no number of commands may limit this
    batch. With a limit that no log reaches, the plan counts the commands below its upper.
-#}
{% macro _adopting_collection(collection) -%}
    {{ return(dict(collection, options=dict(
        collection.options, max_commands_per_batch=trueup._greatest_bigint(), first_batch='history'
    ))) }}
{%- endmacro %}


{#- A copy of the plan for a batch that adopts a table: it settles the ticks, and folds no command. -#}
{% macro _with_adoption(plan) -%}
    {{ return(dict(
        plan,
        adopts=true,
        definition=trueup._adopted_definition(),
        commands_settled=plan.commands_settled + plan.commands_to_settle,
        commands_ahead=0,
        commands_to_settle=0,
        has_truncates=false,
        since=plan.upper - 1
    )) }}
{%- endmacro %}


{#- Writes the rows of an adopted table as the corrections of the first batch. -#}
{% macro _ensure_adopted(collection, plan, columns, table) -%}
    {%- if plan.upper == plan.lower -%}
        {%- do trueup._raise_error(
            'The log of a collection that adopts a table', 'one with commands to settle',
            'no command below ' ~ plan.upper, 'Nothing is adopted. Look at the model of the commands.'
        ) -%}
    {%- endif -%}
    {%- set rows = trueup._adopted_rows_select(
        table, trueup._get_columns('select * from ' ~ table), columns, collection.unique_key,
        collection.options.null_keys
    ) -%}
    {%- call statement('main') -%}
{{ trueup._create_table_sql(
    collection.corrections, trueup._adoption_select(rows, plan, collection.unique_key),
    replace=true,
    own_properties=dict(
        trueup._comparison_properties(plan, 'all'),
        **{'trueup.adopts': local_md5(table | string) ~ ' ' ~ invocation_id}
    )
) }}
    {%- endcall -%}
{%- endmacro %}
