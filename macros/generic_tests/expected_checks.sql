{#- The rules of the key in the view that Great Expectations itself cannot express. -#}
{% macro _expected_key_checks(tables, key, may_be_null) -%}
    {%- set view = tables.rows -%}
    {%- set names = trueup._column_list(key) -%}
    {%- set checks = [] -%}
    {%- if not may_be_null -%}
        {%- do checks.append({
            'name': 'key_is_not_null',
            'says': 'no key of ' ~ view.identifier ~ ' is null',
            'wrong': 'rows of ' ~ view.identifier ~ ' without a key',
            'query': trueup._rows_where_select('select * from ' ~ view, names ~ ' is null')
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
            'query': trueup._rows_where_select(diffs, "_kind = 'key'")
        },
        {
            'name': 'diffs_consolidate',
            'says': 'at every tick the diffs of a row of ' ~ changelog.identifier
                ~ ' sum to 0 or 1',
            'wrong': 'rows and ticks at which the diffs sum to something else',
            'query': trueup._rows_where_select(diffs, "_kind = 'row'")
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
{% macro _get_reader_checks(tables, key, inline_errors) -%}
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
{% macro _expected_error_checks(tables, max_errors) -%}
    {%- set checks = [] -%}
    {%- if 'errors' in tables -%}
        {%- set errors = trueup.test_no_open_errors(tables.errors) -%}
        {%- do checks.append({
            'name': 'errors_under_threshold',
            'says': tables.errors.identifier ~ ' has '
                ~ ('no open error' if max_errors == 0
                    else 'at most ' ~ max_errors ~ (' open error' if max_errors == 1 else ' open errors')),
            'wrong': 'open errors, where at most ' ~ max_errors ~ ' may be',
            'query': trueup._rows_where_select(
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
