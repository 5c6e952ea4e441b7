{#-
    The rules of a collection, as JSON, for `python -m dbt_trueup.expectations`, which renders it with `dbt
    compile --inline`. The queries are those of the generic tests.
-#}
{% macro expectations(collection, max_errors=0) -%}
    {%- if max_errors is not integer or max_errors < 0 -%}
        {%- do trueup._raise_error(
            trueup._argument('expectations', 'max_errors'), 'an integer, at least 0', max_errors,
            'Call it again with such a number, or leave the argument out.'
        ) -%}
    {%- endif -%}
    {%- if execute -%}
        {%- set tables = trueup._get_tables_of(collection) -%}
        {%- set model = trueup._enabled_models(collection)[0] -%}
        {%- set commands = trueup._enabled_models(collection ~ '_commands') -%}
        {%- set key = trueup._key_of_collection(collection) -%}
        {%- set null_keys = trueup._given_option(commands[0] if commands else model, 'null_keys') -%}
        {#- A collection by a select has no commands. It takes a null key like any other key. -#}
        {%- set may_be_null = key | length > 1 or null_keys == 'value' or not commands -%}
        {%- set inline_errors = trueup._given_option(model, 'inline_errors') if commands else none -%}
        {%- set is_plain = trueup._is_plain_key(key, may_be_null) -%}
{{ tojson({
    'name': collection,
    'table': tables.rows | string,
    'unique': key if is_plain else [],
    'not_null': [] if may_be_null else key if is_plain else [],
    'checks': (trueup._key_checks(tables, key, may_be_null) if not is_plain else [])
        + trueup._get_changelog_checks(tables, key)
        + trueup._get_reader_checks(tables, key, inline_errors)
        + trueup._error_checks(tables, max_errors)
}) }}
    {%- endif -%}
{%- endmacro %}


{#-
    The tables and views of a collection, by role. On some catalogs dbt does not know whether a view exists.
-#}
{% macro _get_tables_of(collection) -%}
    {%- set tables = {} -%}
    {%- for role in ['changelog', 'state'] -%}
        {%- do tables.update({role: trueup._get_relation_of(collection, role, macro='expectations')}) -%}
    {%- endfor -%}
    {%- set views = {'rows': collection} -%}
    {%- for role in ['errors', 'completeness'] if trueup._enabled_models(collection ~ '_' ~ role) -%}
        {%- do views.update({role: collection ~ '_' ~ role}) -%}
    {%- endfor -%}
    {%- for role, name in views.items() -%}
        {%- do tables.update({role: trueup._named_relation(collection, name, 'expectations')}) -%}
    {%- endfor -%}
    {{ return(tables) }}
{%- endmacro %}


{#-
    Whether the built-in expectations of Great Expectations can check the key. They cannot take every column
    name, and for a single column they skip nulls.
-#}
{% macro _is_plain_key(key, may_be_null) -%}
    {%- set text = key | join -%}
    {{ return('.' not in text and '`' not in text and (key | length > 1 or not may_be_null)) }}
{%- endmacro %}


{#- The rules of the key in the view that Great Expectations itself cannot express. -#}
{% macro _key_checks(tables, key, may_be_null) -%}
    {%- set view = tables.rows -%}
    {%- set names = trueup._column_list(key) -%}
    {%- set checks = [] -%}
    {%- if not may_be_null -%}
        {%- do checks.append({
            'name': 'key_is_not_null',
            'says': 'no key of ' ~ view.identifier ~ ' is null',
            'wrong': 'rows of ' ~ view.identifier ~ ' without a key',
            'query': trueup._where('select * from ' ~ view, names ~ ' is null')
        }) -%}
    {%- endif -%}
    {%- do checks.append({
        'name': 'key_is_unique',
        'says': 'no key of ' ~ view.identifier ~ ' is there twice',
        'wrong': 'keys of ' ~ view.identifier ~ ' that are there twice',
        'query': 'select ' ~ names ~ ', count(*) as _row_count\nfrom ' ~ view ~ '\ngroup by ' ~ names
            ~ '\nhaving count(*) > 1'
    }) -%}
    {{ return(checks) }}
{%- endmacro %}


{#- The rules of the changelog alone. -#}
{% macro _get_changelog_checks(tables, key) -%}
    {%- set changelog = tables.changelog -%}
    {%- set diffs = trueup.test_one_live_row_per_key(changelog, key) -%}
    {{ return([
        {
            'name': 'one_live_row_per_key',
            'says': 'at every tick a key of ' ~ changelog.identifier ~ ' has one live row or none',
            'wrong': 'keys and ticks with more than one live row, or with less than none',
            'query': trueup._where(diffs, "_kind = 'key'")
        },
        {
            'name': 'diffs_consolidate',
            'says': 'at every tick the diffs of a row of ' ~ changelog.identifier
                ~ ' sum to 0 or 1',
            'wrong': 'rows and ticks at which the diffs sum to something else',
            'query': trueup._where(diffs, "_kind = 'row'")
        },
        {
            'name': 'frontier_is_monotone',
            'says': 'each batch of ' ~ changelog.identifier
                ~ ' begins where the one before ended, and writes nothing before it',
            'wrong': 'batches that take the frontier back',
            'query': trueup.test_has_monotone_frontier(changelog, tables.state)
        },
        {
            'name': 'changelog_matches_certificate',
            'says': 'each batch of ' ~ changelog.identifier ~ ' is what its certificate says',
            'wrong': 'batches of which rows were lost, doubled or changed',
            'shows': ['_seq', 'progress_count'],
            'query': trueup._damaged_batches_select(
                changelog, key, trueup._get_user_columns(changelog)
            )
        },
    ]) }}
{%- endmacro %}


{#- The rules of the tables that are made from the changelog. -#}
{% macro _get_reader_checks(tables, key, inline_errors=none) -%}
    {%- set state = tables.state -%}
    {%- set changelog = tables.changelog -%}
    {%- set columns = trueup._get_user_columns(changelog) -%}
    {%- set checks = [{
        'name': 'state_is_consolidated',
        'says': state.identifier ~ ' is what ' ~ changelog.identifier ~ ' consolidates to',
        'wrong': 'rows that only ' ~ changelog.identifier ~ ' (_diff above 0) or only '
            ~ state.identifier ~ ' has (below 0)',
        'query': trueup.test_consolidates_to_state(changelog, state)
    }] -%}
    {%- for table in [state, tables.rows] -%}
        {%- do checks.append({
            'name': ('state' if table == state else 'collection') ~ '_matches_certificate',
            'says': table.identifier ~ ' is what the certificate of the last batch says',
            'wrong': 'buckets of keys in which rows were lost, doubled or changed',
            'shows': ['bucket'],
            'query': trueup._certificate_differences_select(
                table, changelog, key, columns,
                is_state=table == state, inline_errors=inline_errors if table != state
            )
        }) -%}
    {%- endfor -%}
    {{ return(checks) }}
{%- endmacro %}


{#- The rules of the errors and of the completeness, if there are such models. -#}
{% macro _error_checks(tables, max_errors) -%}
    {%- set checks = [] -%}
    {%- if 'errors' in tables -%}
        {%- set errors = trueup.test_no_open_errors(tables.errors) -%}
        {%- do checks.append({
            'name': 'errors_under_threshold',
            'says': tables.errors.identifier ~ ' has '
                ~ ('no open error' if max_errors == 0 else 'at most ' ~ max_errors ~ ' open errors'),
            'wrong': 'open errors, where at most ' ~ max_errors ~ ' may be',
            'query': trueup._where(
                errors, '(select count(*) from (\n' ~ errors ~ '\n)) > ' ~ max_errors
            )
        }) -%}
    {%- endif -%}
    {%- if 'completeness' in tables -%}
        {%- do checks.append({
            'name': 'log_is_complete',
            'says': 'the log of ' ~ tables.rows.identifier ~ ' has no gap, regression or re-creation',
            'wrong': 'findings in the log',
            'query': trueup.test_is_complete(tables.completeness)
        }) -%}
    {%- endif -%}
    {{ return(checks) }}
{%- endmacro %}


{#- The rows of a select that meet a condition. -#}
{% macro _where(select, condition) -%}
select *
from (
    {{ select }}
)
where {{ condition }}
{%- endmacro %}


{#- The value of an option as the folder or the model sets it; none if neither sets it. -#}
{% macro _given_option(node, name) -%}
    {{ return(((node.config.meta or {}).get('trueup') or {}).get(name)) }}
{%- endmacro %}
