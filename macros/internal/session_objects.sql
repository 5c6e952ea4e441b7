{#-
    The name of a session object (a variable or a temporary view) of a collection. Collections that run side
    by side may share one Spark session, so the name also holds a mark of the package. If two runs may share
    one, it holds a mark of the run, too.
-#}
{% macro _session_name(collection, object) -%}
    {%- set owner = [model.package_name, collection] -%}
    {%- if not trueup._has_own_session() -%}
        {%- do owner.append(invocation_id) -%}
    {%- endif -%}
    {%- set mark = local_md5(owner | join('.'))[:8] -%}
    {{ return(trueup._quoted('trueup__' ~ collection ~ '__' ~ mark ~ '__' ~ object)) }}
{%- endmacro %}


{#-
    Whether no other run uses the Spark session of this run: dbt-spark's method `session` has it inside its own
    process. A Thrift server can give all its connections one session. The plugin shows the method to macros.
    Without the plugin the answer is no.
-#}
{% macro _has_own_session() -%}
    {{ return(target.get('method') == 'session') }}
{%- endmacro %}


{#- Whether the session has an aggregate of the Python module. -#}
{% macro _get_has_aggregate(name) -%}
    {{ return(run_query("show functions like '" ~ name ~ "'").rows | length > 0) }}
{%- endmacro %}


{#- Makes a view of the Spark session. Other processes do not see it. -#}
{% macro _ensure_session_view(name, select) -%}
    {%- do run_query('create or replace temporary view ' ~ name ~ ' as\n' ~ select) -%}
    {%- do trueup._keep_session_object('view', name) -%}
{%- endmacro %}


{#- Makes a variable of the Spark session. `definition` is its type, perhaps with a default. -#}
{% macro _ensure_session_variable(name, definition) -%}
    {%- do run_query('declare or replace variable ' ~ name ~ ' ' ~ definition) -%}
    {%- do trueup._keep_session_object('temporary variable', name) -%}
{%- endmacro %}


{#-
    Remembers a session object of this model until `_ensure_no_session_objects` drops it. dbt's `graph` outlives
    a run that fails, so the next run in the same process drops what is left of it.
-#}
{% macro _keep_session_object(kind, name) -%}
    {%- set kept = graph.setdefault('trueup_session_objects', {}) -%}
    {%- do kept.setdefault(model.unique_id, {}).update({name: kind}) -%}
{%- endmacro %}


{#-
    Drops the session objects of this model if their names are of one run. In a session that outlives the run they
    would stay forever. In a session of one process the next run replaces them.
-#}
{% macro _ensure_no_session_objects() -%}
    {%- set kept = graph.get('trueup_session_objects', {}).pop(model.unique_id, {}) -%}
    {%- for name, kind in kept.items() if not trueup._has_own_session() -%}
        {%- do run_query('drop ' ~ kind ~ ' if exists ' ~ name) -%}
    {%- endfor -%}
{%- endmacro %}
