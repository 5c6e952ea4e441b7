{#-
    Keeps the tables of a collection small. It rewrites small files and their deletes. It removes old
    snapshots, files that belong to no snapshot, and step tables that killed runs have left. The content of
    the tables does not change.

    An operation: `dbt run-operation trueup.maintain --args '{collection: files}'`. With the option
    `maintain` the runs themselves maintain the state and the changelog.
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
            {%- do trueup._raise_error(
                trueup._argument('maintain', name),
                'an integer from ' ~ least ~ ' to 100000', keep[name],
                'Call it again with such a number, or leave the argument out.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if idle is not boolean -%}
        {%- do trueup._raise_error(
            trueup._argument('maintain', 'idle'), 'true or false', idle,
            'Call it again with one of them, or leave the argument out.'
        ) -%}
    {%- endif -%}
    {%- set state = trueup._get_relation_of(collection, 'state', 'maintain') -%}
    {%- set changelog = trueup._get_relation_of(collection, 'changelog', 'maintain') -%}
    {%- do trueup._require_known_changelog(changelog) -%}
    {%- if retain_hours is not none and trueup._get_table_detail(state).provider == 'delta' -%}
        {%- do trueup._require_delta_retention(retain_hours, idle) -%}
    {%- endif -%}
    {%- set replaced = trueup._get_replaced_tables(collection) -%}
    {#- A run with `on_conflict: retry` may stage in the model of the changelog. -#}
    {%- for relation in [changelog] + replaced -%}
        {%- do trueup._ensure_no_leftover_step_tables(relation, trueup._get_table_detail(relation).provider) -%}
    {%- endfor -%}
    {%- for relation in [changelog, state] + (replaced if idle else []) -%}
        {%- do trueup._ensure_maintained(relation, keep) -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    Refuses a `retain_hours` that Delta would ignore or refuse, or that is not safe. Its `vacuum` takes 0, and ignores
    any other number. With 0 it also removes the files that a run has written but not committed yet.
-#}
{% macro _require_delta_retention(retain_hours, idle) -%}
    {%- set subject = trueup._argument('maintain', 'retain_hours') -%}
    {%- set check = 'spark.databricks.delta.retentionDurationCheck.enabled' -%}
    {%- if retain_hours != 0 -%}
        {%- do trueup._raise_error(
            subject, '0 on Delta, or left out', retain_hours,
            'Set the property `delta.deletedFileRetentionDuration` of the tables instead.'
        ) -%}
    {%- elif not idle -%}
        {%- do trueup._raise_error(
            subject, 'given with `idle: true` on Delta, because 0 removes files that a run is writing', retain_hours,
            'Let all runs of the collection end. Then call it again with `idle: true`.'
        ) -%}
    {%- elif trueup._get_setting(check) | lower != 'false' -%}
        {%- do trueup._raise_error(
            'The Spark setting `' ~ check ~ '`', 'false for `retain_hours: 0`', trueup._get_setting(check),
            'Set it in the profile (`server_side_parameters`) for this call.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The default limits for what is kept: hours, and numbers of snapshots. -#}
{% macro _maintenance_defaults() -%}
    {{ return({'retain_hours': 24, 'retain_last': 10, 'orphan_hours': 72}) }}
{%- endmacro %}


{#- Maintains the state and the changelog if the option `maintain` says that it is due. -#}
{% macro _ensure_maintained_when_due(state, changelog, options, tail) -%}
    {%- if trueup._is_maintenance_due(options.maintain, tail) -%}
        {%- for relation in [changelog, state] -%}
            {%- do trueup._ensure_maintained(relation, trueup._maintenance_defaults()) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}


{#- Whether one of the batches just applied has a number that is a multiple of the option `maintain`. -#}
{% macro _is_maintenance_due(every, tail) -%}
    {%- if every is string -%}
        {{ return(every == 'always') }}
    {%- endif -%}
    {{ return(tail.last_seq // every > tail.applied_seq // every) }}
{%- endmacro %}


{#-
    The tables that a run replaces as a whole, if they exist. Every version of such a table is a snapshot
    with its own files. If a run replaces the table while its snapshots expire, the new version may still
    list expired snapshots, whose files are gone.
-#}
{% macro _get_replaced_tables(collection) -%}
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
