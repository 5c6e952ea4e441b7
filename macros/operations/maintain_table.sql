{#- Maintains one table, and logs the result on one line. -#}
{% macro _ensure_maintained(relation, keep) -%}
    {%- set detail = trueup._get_table_detail(relation) -%}
    {%- set figures = trueup._table_figures_select(relation, detail.provider) -%}
    {%- set before = run_query(figures).rows[0].dict() -%}
    {%- do run_query(trueup._rewrite_sql(relation, detail)) -%}
    {%- set answers = [] -%}
    {%- for step in trueup._removal_sqls(relation, detail, keep) -%}
        {%- do answers.append(run_query(step).rows | length) -%}
    {%- endfor -%}
    {%- set after = run_query(figures).rows[0].dict() -%}
    {%- set changes = trueup._maintenance_report(before, after) -%}
    {%- if detail.provider == 'iceberg' -%}
        {%- do changes.append('orphan files removed: ' ~ answers[-1]) -%}
    {%- endif -%}
    {%- do log('Maintained ' ~ relation ~ ': ' ~ (changes | join(', ')), info=true) -%}
{%- endmacro %}


{#-
    The statement that rewrites the files of a table. It does not fail if another run commits first: with partial
    progress, a part of the rewrite that loses is dropped. `rewrite_manifests` is left out. It does fail, and Iceberg
    merges manifests itself.
-#}
{% macro _rewrite_sql(relation, detail) -%}
    {{ return(
        'optimize ' ~ trueup._in_backquotes(relation) if detail.provider == 'delta'
        else trueup._procedure_sql('rewrite_data_files', relation, detail)
        ~ ", options => map('partial-progress.enabled', 'true'))"
    ) }}
{%- endmacro %}


{#-
    The statements that remove what nobody needs, as a list. Call this after the rewrite, because it counts from now.
    The rewrite commits each partition on its own, and the snapshots in between list the old files of the others.
    An expiry repeats its commit if another run commits first.
-#}
{% macro _removal_sqls(relation, detail, keep) -%}
    {%- if detail.provider == 'delta' -%}
        {#- A table of Delta has a retention of its own. Only 0 overrides it: see `_require_delta_retention`. -#}
        {{ return([
            'vacuum ' ~ trueup._in_backquotes(relation) ~ (' retain 0 hours' if keep.retain_hours == 0 else '')
        ]) }}
    {%- endif -%}
    {{ return([
        trueup._procedure_sql('expire_snapshots', relation, detail) ~ ', older_than => '
        ~ trueup._hours_ago(keep.retain_hours) ~ ', retain_last => ' ~ keep.retain_last ~ ')',
        trueup._procedure_sql('remove_orphan_files', relation, detail) ~ ', older_than => '
        ~ trueup._hours_ago(keep.orphan_hours) ~ ')',
    ]) }}
{%- endmacro %}


{#- The start of a call of a procedure of Iceberg for a table. -#}
{% macro _procedure_sql(name, relation, detail) -%}
    {{ return(
        'call ' ~ trueup._quoted(detail.catalog) ~ '.system.' ~ name ~ '(table => '
        ~ trueup._literal(relation | string)
    ) }}
{%- endmacro %}


{#-
    A time as a literal: the given number of hours before now. A procedure does not take an expression here.
-#}
{% macro _hours_ago(hours) -%}
    {%- set now = modules.datetime.datetime.now(modules.pytz.utc) -%}
    {%- set then = now - modules.datetime.timedelta(hours=hours) -%}
    {{ return("timestamp '" ~ then.strftime('%Y-%m-%d %H:%M:%S.%f') ~ "+00:00'") }}
{%- endmacro %}


{#- The format of a table, and its catalog. A dict: `provider`, `catalog`. -#}
{% macro _get_table_detail(relation) -%}
    {#- A column of the table may also have one of these names. The table details come last. -#}
    {%- set found = {} -%}
    {%- for row in run_query('describe table extended ' ~ relation).rows -%}
        {%- do found.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{ return({
        'provider': found.get('Provider', '') | lower,
        'catalog': found.get('Name', '').split('.')[0],
    }) }}
{%- endmacro %}


{#- A select of one row: the size of a table. For Delta it takes only the useful columns. -#}
{% macro _table_figures_select(relation, provider) -%}
{%- if provider == 'delta' -%}
describe detail {{ trueup._in_backquotes(relation) }}
{%- else -%}
select
    count_if(content = 0) as files,
    coalesce(sum(file_size_in_bytes) filter (where content = 0), 0) as bytes,
    count_if(content <> 0) as delete_files,
    (select count(*) from {{ relation }}.snapshots) as snapshots
from {{ relation }}.files
{%- endif -%}
{%- endmacro %}


{#- The size of a table before and after, as a list of texts. -#}
{% macro _maintenance_report(before, after) -%}
    {%- set names = {
        'files': 'files', 'bytes': 'bytes', 'delete_files': 'delete files', 'snapshots': 'snapshots',
        'numFiles': 'files', 'sizeInBytes': 'bytes',
    } -%}
    {%- set changes = [] -%}
    {%- for name in names if name in after -%}
        {%- do changes.append(
            names[name] ~ ' ' ~ '{:,}'.format(before[name] | int)
            ~ ' -> ' ~ '{:,}'.format(after[name] | int)
        ) -%}
    {%- endfor -%}
    {{ return(changes) }}
{%- endmacro %}
