{#-
    Keeps the tables of a collection small: small files and their deletes are rewritten, old
    snapshots and files that no snapshot knows are removed. What the tables hold stays as it is.

    An operation: `dbt run-operation trueup.maintain --args '{collection: files}'`. The option
    `maintain` has state and changelog maintained by the runs themselves.
-#}
{% macro maintain(
    collection, retain_hours=none, retain_last=none, orphan_hours=none, idle=false
) -%}
    {%- set keep = trueup._maintenance_defaults() -%}
    {%- set given = {
        'retain_hours': retain_hours, 'retain_last': retain_last, 'orphan_hours': orphan_hours
    } -%}
    {%- for name, value in given.items() if value is not none -%}
        {%- do keep.update({name: value}) -%}
    {%- endfor -%}
    {%- for name, least in {'retain_hours': 0, 'retain_last': 1, 'orphan_hours': 24}.items() -%}
        {%- if keep[name] is not integer or not least <= keep[name] <= 100000 -%}
            {%- do trueup._refuse(
                trueup._argument('maintain', name),
                'an integer from ' ~ least ~ ' to 100000', keep[name]
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if idle is not boolean -%}
        {%- do trueup._refuse(trueup._argument('maintain', 'idle'), 'true or false', idle) -%}
    {%- endif -%}
    {%- set state = trueup._relation_of(collection, 'state', 'maintain') -%}
    {%- set changelog = trueup._relation_of(collection, 'changelog', 'maintain') -%}
    {%- set replaced = trueup._replaced_tables(collection) if idle else [] -%}
    {%- for relation in [changelog, state] + replaced -%}
        {%- do trueup.maintain_table(relation, keep) -%}
    {%- endfor -%}
{%- endmacro %}


{#- What is kept unless somebody asks for more or less: hours and numbers of snapshots. -#}
{% macro _maintenance_defaults() -%}
    {{ return({'retain_hours': 24, 'retain_last': 10, 'orphan_hours': 72}) }}
{%- endmacro %}


{#- Maintains state and changelog where the option `maintain` says that it is time to. -#}
{% macro maintain_when_due(state, changelog, options, position) -%}
    {%- if trueup._is_maintenance_due(options.maintain, position) -%}
        {%- for relation in [changelog, state] -%}
            {%- do trueup.maintain_table(relation, trueup._maintenance_defaults()) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}


{#- Whether a multiple of the option `maintain` is among the batches that were applied just now. -#}
{% macro _is_maintenance_due(every, position) -%}
    {%- if every is string -%}
        {{ return(every == 'always') }}
    {%- endif -%}
    {{ return(position.last_seq // every > position.applied_seq // every) }}
{%- endmacro %}


{#-
    The tables that a run replaces whole, as far as they are there. Every version of them is a
    snapshot that holds its files. One that is replaced while snapshots of it expire may list these
    still, without their files.
-#}
{% macro _replaced_tables(collection) -%}
    {%- set found = [] -%}
    {%- for role in ['batch', 'corrections'] -%}
        {%- set name = collection ~ '_' ~ role -%}
        {%- if trueup._enabled_models(name) -%}
            {%- set relation = trueup._named_relation(collection, name, 'maintain') -%}
            {%- do found.append(load_relation(relation)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found | reject('none') | list) }}
{%- endmacro %}


{#- Maintains one table, and logs what has become of it, on one line. -#}
{% macro maintain_table(relation, keep) -%}
    {%- set detail = trueup.get_table_detail(relation) -%}
    {%- set figures = trueup.table_figures_sql(relation, detail.provider) -%}
    {%- set before = run_query(figures).rows[0].dict() -%}
    {%- set answers = [] -%}
    {%- for step in trueup.maintenance_steps(relation, detail, keep) -%}
        {%- do answers.append(run_query(step).rows | length) -%}
    {%- endfor -%}
    {%- set after = run_query(figures).rows[0].dict() -%}
    {%- set changes = trueup._maintenance_report(before, after) -%}
    {%- if detail.provider == 'iceberg' -%}
        {%- do changes.append('orphan files removed: ' ~ answers[-1]) -%}
    {%- endif -%}
    {%- do log('Maintained ' ~ relation ~ ': ' ~ (changes | join(', ')), info=true) -%}
{%- endmacro %}


{#- What a table was and has become, as a list of texts. -#}
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


{#- The format of a table, and the catalog that it lives in. A dict: `provider`, `catalog`. -#}
{% macro get_table_detail(relation) -%}
    {#- A column may have one of these names, too: the detail comes last. -#}
    {%- set found = {} -%}
    {%- for row in run_query('describe table extended ' ~ relation).rows -%}
        {%- do found.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{ return({
        'provider': found.get('Provider', '') | lower,
        'catalog': found.get('Name', '').split('.')[0],
    }) }}
{%- endmacro %}


{#- A select of one row: how large a table is. That of Delta has more columns than are of use. -#}
{% macro table_figures_sql(relation, provider) -%}
{%- if provider == 'delta' -%}
describe detail {{ relation }}
{%- else -%}
select
    count_if(content = 0) as files,
    coalesce(sum(file_size_in_bytes) filter (where content = 0), 0) as bytes,
    count_if(content <> 0) as delete_files,
    (select count(*) from {{ relation }}.snapshots) as snapshots
from {{ relation }}.files
{%- endif -%}
{%- endmacro %}


{#-
    The statements that maintain a table, as a list. None of them fails where another run commits
    first: with partial progress a rewrite that has lost is given up, and an expiry repeats its
    commit. `rewrite_manifests` does fail, and Iceberg merges manifests itself.
-#}
{% macro maintenance_steps(relation, detail, keep) -%}
    {%- if detail.provider == 'delta' -%}
        {{ return(['optimize ' ~ relation, 'vacuum ' ~ relation]) }}
    {%- endif -%}
    {%- set table = 'table => ' ~ trueup._literal(relation | string) -%}
    {%- set expired = trueup._hours_ago(keep.retain_hours) -%}
    {%- set lost = trueup._hours_ago(keep.orphan_hours) -%}
    {%- set system = 'call ' ~ trueup._quote(detail.catalog) ~ '.system.' -%}
    {{ return([
        system ~ 'rewrite_data_files(' ~ table
        ~ ", options => map('partial-progress.enabled', 'true'))",
        system ~ 'expire_snapshots(' ~ table ~ ', older_than => ' ~ expired
        ~ ', retain_last => ' ~ keep.retain_last ~ ')',
        system ~ 'remove_orphan_files(' ~ table ~ ', older_than => ' ~ lost ~ ')',
    ]) }}
{%- endmacro %}


{#- A time as a literal: so many hours before now. A procedure takes no expression in its place. -#}
{% macro _hours_ago(hours) -%}
    {%- set now = modules.datetime.datetime.now(modules.pytz.utc) -%}
    {%- set then = now - modules.datetime.timedelta(hours=hours) -%}
    {{ return("timestamp '" ~ then.strftime('%Y-%m-%d %H:%M:%S') ~ "+00:00'") }}
{%- endmacro %}
