{#-
    The name of a session object (a variable or a temporary view) of a collection. Collections that run side
    by side may share one Spark session, so the name also holds a mark of the package.
-#}
{% macro _session_name(collection, object) -%}
    {%- set owner = local_md5(model.package_name ~ '.' ~ collection)[:8] -%}
    {{ return(trueup._quoted('trueup__' ~ collection ~ '__' ~ owner ~ '__' ~ object)) }}
{%- endmacro %}


{#- Whether the session has an aggregate of the Python module. -#}
{% macro _get_has_aggregate(name) -%}
    {{ return(run_query("show functions like '" ~ name ~ "'").rows | length > 0) }}
{%- endmacro %}


{#- Makes a view of the Spark session. Other processes do not see it. -#}
{% macro _ensure_session_view(name, select) -%}
    {%- do run_query('create or replace temporary view ' ~ name ~ ' as\n' ~ select) -%}
{%- endmacro %}
