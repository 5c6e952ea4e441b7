{#-
    What must hold of a collection, as JSON. `trueup check` renders this macro with `dbt compile --inline`. The queries are
    those of the generic tests.
-#}
{% macro _get_expectations(collection, max_errors=0) -%}
    {%- if max_errors is not integer or max_errors < 0 -%}
        {%- do trueup._raise_error(
            trueup._argument("expectations", "max_errors"), 'an integer, at least 0', max_errors,
            'Call it again with such a number, or leave the argument out.'
        ) -%}
    {%- endif -%}
    {%- set relation = trueup._collection_relation('expectations', collection) -%}
    {%- if execute -%}
        {%- if load_relation(trueup._store_of(relation)) is none -%}
            {%- do trueup._raise_error('The collection ' ~ collection, 'one that has run', 'none', 'Run it: dbt run -s ' ~ collection) -%}
        {%- endif -%}
        {%- set stored = trueup._get_stored_collection(relation) -%}
        {%- set model = graph.nodes.values() | selectattr('name', 'eq', collection) | selectattr('config.materialized', 'eq', 'trueup') | first -%}
        {%- set has_null_keys = not (stored.newest.order or [''])[-1]
            or trueup._given_options(model.config.meta).get('null_keys') == 'value' -%}
        {%- set text = stored.key | join -%}
        {#- Great Expectations cannot take these names, and for a single column it skips nulls. -#}
        {%- set is_plain = '.' not in text and '`' not in text and (stored.key | length > 1 or not has_null_keys) -%}
        {%- set name, key = collection, stored.key + ['_error_key'] -%}
        {%- set checks = [
            {'name': 'matches_certificate', 'says': name ~ ' is as its newest batch has left it', 'shows': [],
                'wrong': 'parts and buckets of keys in which rows were lost, doubled or changed',
                'query': trueup._get_certificate_differences_select(relation)},
            {'name': 'consolidates_to_state', 'says': 'the history of ' ~ name ~ ' adds up to its rows', 'shows': [],
                'wrong': 'rows that only the history (_diff above 0) or only the current rows have (below 0)',
                'query': trueup._unconsolidated_select(stored.store)},
            {'name': 'one_live_row_per_key', 'says': 'at every tick a key of ' ~ name ~ ' has one live row or none', 'shows': [],
                'wrong': 'keys and ticks with more than one live row, or with less than none',
                'query': trueup._get_wrong_ticks_select(relation)},
            {'name': 'no_open_errors', 'shows': key + ['_error_kind', '_error'],
                'says': name ~ ' has at most ' ~ max_errors ~ (' open error' if max_errors == 1 else ' open errors'),
                'wrong': 'open errors, where at most ' ~ max_errors ~ ' may be',
                'query': 'select * from ' ~ trueup._subquery(trueup._errors_select(relation))
                    ~ ' where (select count(*) from ' ~ stored.store ~ " where _kind = 'error') > " ~ max_errors},
        ] -%}
        {%- if not is_plain -%}
            {%- do checks.insert(0, {
                'name': 'key_is_unique', 'says': 'no key of ' ~ name ~ ' is there twice', 'shows': [],
                'wrong': 'keys of ' ~ name ~ ' that are there twice',
                'query': 'select ' ~ trueup._column_list(stored.key) ~ ', count(*) as _row_count from ' ~ relation
                    ~ ' group by ' ~ trueup._column_list(stored.key) ~ ' having count(*) > 1',
            }) -%}
        {%- endif -%}
{{ tojson({
    'name': name, 'table': relation | string, 'checks': checks,
    'unique': stored.key if is_plain else [], 'not_null': stored.key if is_plain and stored.key | length == 1 else [],
}) }}
    {%- endif -%}
{%- endmacro %}
