{#- Keeps in the table `trueup_runs` what dbt reports about the runs of collections. -#}

{#- Records failures, successes after a failure, and rebuilt states. See the YAML beside this file. -#}
{% macro record_runs(results) -%}
    {%- if execute and flags.WHICH in ['run', 'build', 'retry'] -%}
        {%- set outcomes = trueup._outcomes(results) -%}
        {%- set runs = trueup._get_runs_relation() if outcomes else none -%}
        {%- if runs is not none -%}
            {%- do trueup._ensure_recorded(runs, outcomes) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}


{#- The table of the model `trueup_runs`; none if it is not enabled, or was never built. -#}
{% macro _get_runs_relation() -%}
    {%- for model in trueup._enabled_models('trueup_runs') -%}
        {{ return(load_relation(trueup._relation_of_node(model))) }}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro %}


{#-
    How the models of monitored collections ended in this run, in the order in which they ended: a list of dicts
    with `collection`, `model` and `error`. `error` is none if the model succeeded. A model that was skipped
    counts only if no other model of its collection failed. With `--fail-fast` dbt also skips models that have
    nothing to do with the failure; they do not count.
-#}
{% macro _outcomes(results) -%}
    {%- set collections = trueup._monitored_collections() -%}
    {%- set done = ['success', 'pass', 'warn', 'no-op', 'skipped'] -%}
    {%- set broken = results | rejectattr('status', 'in', done) | map(attribute='node.unique_id') | list -%}
    {%- set outcomes, failed = [], [] -%}
    {%- for skipped in [false, true] -%}
        {#- The graph is walked last, and only for models of these collections: that takes long in a large project. -#}
        {%- for result in results if (result.status == 'skipped') == skipped
                and result.node.resource_type == 'model'
                and trueup._monitored_collection_of(result.node, collections) is not none
                and not (skipped and 'fail_fast' in (result.message or '')
                    and not trueup._is_below(result.node.unique_id, broken)) -%}
            {%- set collection = trueup._monitored_collection_of(result.node, collections) -%}
            {%- set is_success = result.status == 'success' -%}
            {%- if not (skipped and collection in failed) -%}
                {%- do outcomes.append({
                    'collection': collection,
                    'model': result.node.name,
                    'error': none if is_success else (
                        'The model was skipped, because a model or a data test before it failed.' if skipped
                        else trueup._error_text(result.message)
                    ),
                }) -%}
                {%- if not is_success -%}
                    {%- do failed.append(collection) -%}
                {%- endif -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(outcomes) }}
{%- endmacro %}


{#- Whether dbt's graph leads from one of the nodes `above` to a node. -#}
{% macro _is_below(node_id, above) -%}
    {#- No recursion: a graph may be deeper than Python's stack. The list grows while the loop reads it. -#}
    {%- set seen = [node_id] -%}
    {%- for each in seen -%}
        {%- for parent in graph.nodes.get(each, {}).get('depends_on', {}).get('nodes', []) if parent not in seen -%}
            {%- if parent in above -%}
                {{ return(true) }}
            {%- endif -%}
            {%- do seen.append(parent) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(false) }}
{%- endmacro %}


{#- The message of a failed model, without the lines that say in which macro it was. At most 4000 characters. -#}
{% macro _error_text(message) -%}
    {{ return(((message or 'dbt gives no message.').split('\n  > ')[0] | trim)[:4000]) }}
{%- endmacro %}


{#-
    The monitored collection to which a model belongs, by its role. None for the other models, and for a model of
    another package that is hidden by one with its name.
-#}
{% macro _monitored_collection_of(node, collections) -%}
    {%- for role in trueup._recorded_roles() -%}
        {%- for collection in collections if node.name == collection ~ '_' ~ role -%}
            {%- set known = trueup._enabled_models(node.name) | map(attribute='unique_id') | list -%}
            {{ return(collection if node.unique_id in known else none) }}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro %}


{#- The roles of the models whose outcomes are kept. -#}
{% macro _recorded_roles() -%}
    {{ return(['commands', 'desired', 'corrections', 'batch', 'changelog', 'state']) }}
{%- endmacro %}


{#-
    Adds new outcomes to the table. One query reads the failures that the table has. If nothing is new,
    nothing is written.
-#}
{% macro _ensure_recorded(runs, outcomes) -%}
    {%- set known = trueup._get_failed_models(runs) -%}
    {%- set rows = [] -%}
    {%- for outcome in outcomes if known.get(outcome.model) != outcome.error -%}
        {%- do known.update({outcome.model: outcome.error}) -%}
        {%- do rows.append(dict(outcome, outcome='failed' if outcome.error else 'succeeded')) -%}
    {%- endfor -%}
    {%- set rebuilds = trueup._rebuilds(outcomes | map(attribute='collection') | unique | list) -%}
    {%- if rows or rebuilds -%}
        {%- do run_query(trueup._record_runs_sql(runs, rows + rebuilds)) -%}
    {%- endif -%}
    {%- if rows -%}
        {%- do trueup._ensure_lag_readable(known) -%}
    {%- endif -%}
{%- endmacro %}


{#- The states of collections that this run rebuilt: a list of rows of `trueup_runs`. -#}
{% macro _rebuilds(collections) -%}
    {%- set rows = [] -%}
    {%- for name in collections -%}
        {%- set changelog = trueup._named_relation(name, name ~ '_changelog', 'record_runs') -%}
        {%- set seconds = trueup._finding({'changelog': changelog}, 'rehydration_seconds') -%}
        {%- if seconds is not none -%}
            {%- do rows.append({
                'collection': name, 'model': name ~ '_state', 'outcome': 'rehydrated', 'error': none,
                'seconds': seconds, 'changelog': changelog
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(rows) }}
{%- endmacro %}


{#- The statement that adds rows to the table. -#}
{% macro _record_runs_sql(runs, rows) -%}
{{ trueup._step_marker('record') }}
insert into {{ runs }} by name
{% for row in rows -%}
select
    {{ trueup._literal(row.collection) }} as collection,
    {{ trueup._literal(row.model) }} as model,
    {{ trueup._literal(row.outcome) }} as outcome,
    {{ trueup._literal_or_null(row.error) }} as error,
    cast({{ trueup._number_or_null(row.get('seconds')) }} as double) as seconds,
    {% if row.get('changelog') -%}
    (select count(*) from {{ row.changelog }} where {{ trueup._is_content_expr() }})
    {%- else -%}
    cast(null as bigint)
    {%- endif %} as updates,
    {{ loop.index }} as place,
    {{ trueup._literal(invocation_id) }} as invocation_id,
    current_timestamp() as recorded_at
{{ 'union all' if not loop.last }}
{% endfor %}
{%- endmacro %}
