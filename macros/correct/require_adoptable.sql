{#- Checks before and during the adoption of a table (var `trueup_adopt`). -#}

{#- Raises if the run also builds another collection by commands: it would adopt the same table. -#}
{% macro _require_alone(collection) -%}
    {%- set others = [] -%}
    {%- for id in selected_resources if id.endswith('_batch') and id[:-6] ~ '_commands' in graph.nodes
            and id.split('.')[-1] != collection ~ '_batch' -%}
        {%- do others.append(id.split('.')[-1][:-6]) -%}
    {%- endfor -%}
    {%- if others -%}
        {%- do trueup._raise_error(
            'A run with var `trueup_adopt`', 'one of a single collection: ' ~ collection,
            'one that also builds ' ~ (others | join(', ')),
            'Nothing is adopted. Run only this one: dbt run -s ' ~ trueup._written_models(collection, 'commands')
            ~ ' with the same var.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless the first batch of a collection has adopted a table. -#}
{% macro _require_adopted(collection) -%}
    {%- if not trueup._get_is_adopted(collection.changelog) -%}
        {%- do trueup._raise_error(
            'The collection `' ~ collection.name ~ '` with var `trueup_adopt`', 'one that has never run',
            'a changelog with batches of its log: ' ~ collection.changelog,
            'Leave out the var. Or drop the tables of the collection, and adopt again.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Raises if an adoption has renamed the table of a collection that has no batch, and this run does not take its
    rows: it would begin with the log, and the adoption could not be completed.
-#}
{% macro _require_no_begun_adoption(collection) -%}
    {%- set node = graph.nodes.get(trueup._model_id(collection)) -%}
    {%- set view = trueup._relation_of_node(node) if node else none -%}
    {%- set kept = load_relation(trueup._renamed_table(view)) if view else none -%}
    {%- if kept is not none -%}
        {%- do trueup._raise_error(
            'The first batch of `' ~ collection ~ '`',
            'made of the rows of ' ~ kept ~ ': an adoption has renamed this table, and was interrupted',
            'a run without the var `trueup_adopt`',
            'Nothing is staged. Complete the adoption: trueup adopt ' ~ view ~ ' --apply. To begin with the log'
            ~ ' instead, give the table another name.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises unless a collection with these options can find how an adopted table differs from its log. -#}
{% macro _require_may_adopt(options, is_by_select) -%}
    {%- if is_by_select -%}
        {%- do trueup._raise_error(
            'An adopted table', 'that of a collection by commands', 'a collection by a SELECT',
            'Let the SELECT run: it compares the rows in each run.'
        ) -%}
    {%- endif -%}
    {%- for name, value in {'late': 'correct', 'log': 'complete', 'eager': false}.items()
            if options[name] != value -%}
        {%- do trueup._raise_error(
            'Option `' ~ name ~ '` of a collection that adopts a table', value | lower, options[name] | lower,
            'Set it in `meta: {trueup: {...}}` of all models of the collection. You may change it after the'
            ~ ' first two batches.'
        ) -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    Raises if the log of a table to adopt has what such a collection cannot compare. `extras` are those of the
    collection.
-#}
{% macro _require_adoptable_log(extras) -%}
    {%- set next_step = 'No row is written. If the table was renamed for this, rename it back. Let the collection'
        ~ ' begin with its log, under another name, and compare the two tables.' -%}
    {%- if trueup._has_carried_values(extras) -%}
        {%- do trueup._raise_error(
            'A log whose table is adopted', 'one without changes of key that leave columns unchanged',
            'a log with `old_key` and `unchanged`; each log by `trueup.debezium` or `trueup.wal2json` has both',
            next_step
        ) -%}
    {%- endif -%}
    {%- if '_offset' in extras -%}
        {%- do trueup._raise_error(
            'A log whose table is adopted', 'one with ticks', 'a log with `reclock`', next_step
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Raises if this run cannot take the corrections of a first batch. If the run adopts `table`, they must be
    the rows of this table. If `table` is none, they must not be the rows of any table. `comparison` has the
    properties of the corrections. Another run may have made them, with another value of the var. A table that
    is replaced keeps its properties, so the property also names the run that set it. It has the hash of the
    table's name, because Spark hides names such as `shop.urls`.
-#}
{% macro _require_adopted_corrections(collection, comparison, table) -%}
    {%- set given, _, made_by = comparison.get('trueup.adopts', '').rpartition(' ') -%}
    {%- set taken = given if made_by == comparison.get('trueup.compared_by', '') else '' -%}
    {%- if taken != (local_md5(table | string) if table else '') -%}
        {%- do trueup._raise_error(
            'The first corrections, ' ~ collection.corrections ~ ',',
            'made with the var `trueup_adopt` of this run: ' ~ (table or 'none'),
            'another table' if taken else 'none',
            'Run the whole collection: dbt run -s ' ~ trueup._written_models(collection.name, 'commands') ~ '.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
