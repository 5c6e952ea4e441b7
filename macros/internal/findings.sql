{#-
    Findings: a model tells the later models of the same run what it has found out about the collection, so that
    they need not ask again. A finding is never the only protection: between two models another run may write,
    so each statement that writes checks what it relies on. docs/objects.md lists the findings.

    All models of a run share dbt's `graph`. Nothing else that a macro can reach lives as long and is shared.
-#}

{#-
    Keeps a finding of this model. A process may run dbt many times with one graph: the findings of earlier runs
    are removed.
-#}
{% macro _keep_finding(collection, name, finding) -%}
    {%- set runs = graph.setdefault('trueup_findings', {}) -%}
    {%- do runs.setdefault(invocation_id, {}).update({
        (collection.changelog | string, name): finding
    }) -%}
    {%- for run in runs | list if run != invocation_id -%}
        {%- do runs.pop(run, none) -%}
    {%- endfor -%}
{%- endmacro %}


{#- A finding of an earlier model of this run; none if there is none. -#}
{% macro _finding(collection, name) -%}
    {%- set findings = graph.get('trueup_findings', {}).get(invocation_id, {}) -%}
    {{ return(findings.get((collection.changelog | string, name))) }}
{%- endmacro %}


{#- Keeps how long a rebuild of the state took, as a finding for the end of the run. -#}
{% macro _keep_rehydration(collection, begun_at) -%}
    {%- do trueup._keep_finding(
        collection, 'rehydration_seconds',
        (modules.datetime.datetime.now() - begun_at).total_seconds()
    ) -%}
{%- endmacro %}
