{#-
    Makes the name of a collection's view free: if a table has this name, it is renamed to
    `<table>_before_trueup`. Nothing is dropped. Then the operation prints the var with which the first run
    takes the rows of the table. `trueup adopt --apply` does all of this, after a drift report.

    An operation: `dbt run-operation trueup.adopt --args '{collection: orders, table: shop.orders}'`.
-#}
{% macro adopt(collection, table) -%}
    {%- do trueup._require_may_adopt(trueup._options_to_adopt(collection), is_by_select=false) -%}
    {%- do trueup._require_unrun(collection) -%}
    {%- do trueup._require_written_adoption() -%}
    {%- set place = trueup._get_table_to_adopt(collection, table) -%}
    {%- if place.now != place.then -%}
        {%- do run_query(
            trueup._step_marker('alter') ~ '\nalter table ' ~ place.now ~ ' rename to ' ~ place.then
        ) -%}
        {%- do log('Renamed ' ~ place.now ~ ' to ' ~ place.then ~ '.', info=true) -%}
    {%- endif -%}
    {%- do log(
        'Next: dbt run -s ' ~ trueup._written_models(collection, 'commands') ~ " --vars '{trueup_adopt: " ~ place.then
        ~ "}', then dbt run.", info=true
    ) -%}
{%- endmacro %}


{#- Raises in a dry run: the table would be renamed, and no batch would have its rows. -#}
{% macro _require_written_adoption() -%}
    {%- if trueup._var('trueup_read_only') -%}
        {%- do trueup._raise_error(
            'An adoption', 'a run that writes', 'var trueup_read_only: true',
            'Nothing is changed. Leave out the var. Without `--apply`, `trueup adopt` writes no row.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    The table that a collection adopts, as a dict of relations. `now` is where the table is. `then` is where
    it must be before the collection runs. They differ if the collection's view needs the name of the table.
-#}
{% macro _get_table_to_adopt(collection, table) -%}
    {%- set view = trueup._named_relation(collection, collection, 'adopt') -%}
    {%- set schema, _, name = table.rpartition('.') -%}
    {%- if '.' in schema -%}
        {%- do trueup._raise_error(
            trueup._argument('adopt', 'table'), 'a table of the session\'s catalog, with its schema alone', table,
            'Nothing is changed. Leave out the catalog. A table of another catalog must be copied first: create table '
            ~ view.schema ~ '.' ~ name ~ '_copy as select * from ' ~ table ~ '.'
        ) -%}
    {%- endif -%}
    {%- set given = api.Relation.create(schema=schema or view.schema, identifier=name) -%}
    {%- set kept = trueup._renamed_table(given) -%}
    {%- set found, found_before = load_relation(given), load_relation(kept) -%}
    {%- set is_free = found is none or found.type == 'view' -%}
    {%- if given | string != view | string and found is not none -%}
        {{ return({'now': given, 'then': given}) }}
    {%- elif given | string == view | string and not is_free and found_before is none -%}
        {{ return({'now': given, 'then': kept}) }}
    {%- elif given | string == view | string and is_free and found_before is not none -%}
        {{ return({'now': kept, 'then': kept}) }}
    {%- endif -%}
    {%- do trueup._raise_error(
        trueup._argument('adopt', 'table'), 'one table that exists',
        'two: ' ~ given ~ ' and ' ~ kept if found_before is not none else 'no table ' ~ given,
        'Nothing is changed. Rename or drop the wrong one.' if found_before is not none
            else 'Nothing is changed. Correct the name.'
    ) -%}
{%- endmacro %}


{#- The options of a collection with commands. Its corrections model adopts a table. -#}
{% macro _options_to_adopt(collection) -%}
    {%- do trueup._named_relation(collection, collection ~ '_commands', 'adopt') -%}
    {{ return(trueup._options_of(collection, 'corrections')) }}
{%- endmacro %}


{#- Raises if a collection has run from its log: then it has its own rows, and cannot take others. -#}
{% macro _require_unrun(collection) -%}
    {%- set changelog = trueup._named_relation(collection, collection ~ '_changelog', 'adopt') -%}
    {%- if load_relation(changelog) is not none
            and trueup._get_batch_count(changelog).last_seq -%}
        {%- do trueup._require_adopted({'name': collection, 'changelog': changelog}) -%}
    {%- endif -%}
{%- endmacro %}
