{#- The failures that the table `trueup_runs` has, and the logs that cannot be read because of them. -#}

{#- The errors of the models whose last run failed, by model. -#}
{% macro _get_failed_models(runs) -%}
    {%- set query -%}
select model, error from ({{ trueup._last_outcomes_select(runs) }}) where outcome = 'failed'
    {%- endset -%}
    {%- set failures = {} -%}
    {#- Nobody can clear the failure of a model that the project no longer has. -#}
    {%- for row in run_query(query) if trueup._enabled_models(row[0]) -%}
        {%- do failures.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{ return(failures) }}
{%- endmacro %}


{#-
    The last outcome of each model that has ever failed, as rows of `trueup_runs`. `failed_since` is the time of
    its first failure after its last success: each new message of one failure has a row of its own.
-#}
{% macro _last_outcomes_select(runs) -%}
select newest.*, failed_since
from (
    select
        max_by(
            struct(collection, model, outcome, error, place, recorded_at), struct(recorded_at, place)
        ) as newest,
        min(
            case when not coalesce(struct(recorded_at, place) <= last_success, false) then recorded_at end
        ) as failed_since
    from (
        select
            *,
            max(case when outcome = 'succeeded' then struct(recorded_at, place) end)
                over (partition by model) as last_success
        from {{ runs }}
        where outcome in ('failed', 'succeeded')
    ) as recorded
    group by model
) as last_of_model
{%- endmacro %}


{#-
    Replaces the view `trueup_lag` with one that does not read the logs of failed models. `errors` are the
    errors by model; none for a model that has succeeded since. A collection that was never built is left out.
-#}
{% macro _ensure_lag_readable(errors) -%}
    {%- set changelogs = {} -%}
    {%- for name in trueup._monitored_collections() -%}
        {%- set changelog = trueup._named_relation(name, name ~ '_changelog', 'record_runs') -%}
        {%- if load_relation(changelog) is not none -%}
            {%- do changelogs.update({name: changelog}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for model in trueup._enabled_models('trueup_lag') if changelogs -%}
        {%- do run_query(
            trueup._step_marker('create') ~ '\ncreate or replace view ' ~ trueup._relation_of_node(model)
            ~ ' as\n' ~ trueup._lag_select(changelogs, trueup._unread_collections(errors))
        ) -%}
    {%- endfor -%}
{%- endmacro %}


{#- The collections whose logs the models of failed runs could not read. `errors` are errors by model. -#}
{% macro _unread_collections(errors) -%}
    {%- set unread = [] -%}
    {%- for name in trueup._monitored_collections() -%}
        {%- for role in ['commands', 'corrections', 'batch'] if errors.get(name ~ '_' ~ role) -%}
            {%- do unread.append(name) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(unread) }}
{%- endmacro %}
