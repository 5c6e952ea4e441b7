{#-
    The views of the Spark session that the staged batch reads: made where columns are known by
    name, which the model cannot know while it is compiled.
-#}

{#- `input` and `persisted` come together in `steps`; `provisional` is for eager collections. -#}
{% macro create_batch_views(collection, shard, corrections, options) -%}
    {%- set columns = trueup.follow_columns(shard, options) -%}
    {%- set frontier = trueup._session_name(collection, 'frontier') -%}
    {%- set values = trueup._value_names(columns, shard.unique_key) -%}
    {%- set input = none if shard.is_by_select else trueup._session_name(collection, 'input') -%}
    {%- set persisted = trueup._session_name(collection, 'persisted') -%}
    {%- if input -%}
        {%- do trueup.create_session_view(input, trueup.select_input(
            shard.commands, frontier ~ '.lower', frontier ~ '.open_upper', shard.unique_key,
            columns, shard.columns, shard.extras, options,
            partitions=frontier ~ '.partitions' if '_offset' in shard.extras
        )) -%}
    {%- endif -%}
    {%- do trueup.create_persisted_view(collection, shard, values, options) -%}
    {%- if corrections -%}
        {%- set waiting = trueup._session_name(collection, 'waiting') -%}
        {%- do trueup.create_session_view(
            waiting, trueup.select_waiting(corrections, frontier, shard.unique_key, values)
        ) -%}
    {%- endif -%}
    {%- do trueup.create_steps_view(collection, 'undigested',
        trueup.select_steps(
            input, persisted, waiting if corrections, shard.unique_key, values, shard.extras,
            shard.frontier.has_truncates, options, is_small=trueup._is_small_batch(shard.frontier)
        ),
        shard, values, options
    ) -%}
    {%- do trueup.create_session_view(trueup._session_name(collection, 'steps'),
        trueup.digest_steps(
            trueup._session_name(collection, 'undigested'), shard.unique_key, columns
        )
    ) -%}
    {%- if options.eager -%}
        {%- do trueup.create_session_view(trueup._session_name(collection, 'provisional'),
            trueup.select_provisional(shard.changelog, frontier, shard.unique_key, columns)
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Whether the keys of a batch fit into memory, even long ones: then each core gets all of them, and
    the state is read where it lies. Else both are shuffled. What counts is all that the log has
    ahead, though the batch may be cut before.
-#}
{% macro _is_small_batch(frontier) -%}
    {{ return(frontier.commands_ahead + frontier.correction_count <= 200000) }}
{%- endmacro %}


{#-
    The view `object` of steps. Where values are carried from key to key, the steps are read many
    times in one statement: they are written to a table, which `drop_kept_steps` drops again.
-#}
{% macro create_steps_view(collection, object, steps, shard, values, options) -%}
    {%- set name = trueup._session_name(collection, object) -%}
    {%- if not trueup._carries_values(shard.extras) -%}
        {%- do trueup.create_session_view(name, steps) -%}
    {%- else -%}
        {%- set kept = trueup._kept_steps() -%}
        {%- set bases = trueup._session_name(collection, 'bases') -%}
        {%- set resolved = trueup._session_name(collection, 'resolved') -%}
        {%- set identity = shard.unique_key + ['_error_key'] -%}
        {%- do run_query(trueup.create_table_sql(kept, steps, replace=true)) -%}
        {%- do trueup.create_session_view(bases, trueup.select_bases(
            kept, identity, trueup._sequence_terms(options)
        )) -%}
        {%- do trueup.create_session_view(resolved, trueup.resolve_bases(bases, values)) -%}
        {%- do trueup.create_session_view(name, trueup.select_carried(kept, resolved, values)) -%}
    {%- endif -%}
{%- endmacro %}


{#- The steps with the digest of each value, as a select. -#}
{% macro digest_steps(steps, unique_key, columns) -%}
select
    *,
    case
        when _value is not null
            then {{ trueup.digest_expr(unique_key, columns, in_value=true) }}
    end as _digest
from {{ steps }}
{%- endmacro %}


{#- Drops the table that `create_steps_view` has written, if it did. -#}
{% macro drop_kept_steps(extras) -%}
    {%- if trueup._carries_values(extras) -%}
        {%- do run_query('drop table if exists ' ~ trueup._kept_steps()) -%}
    {%- endif -%}
{%- endmacro %}


{#- The table of steps that a run keeps while it makes this model. -#}
{% macro _kept_steps() -%}
    {{ return(api.Relation.create(schema=this.schema, identifier=this.identifier ~ '__steps')) }}
{%- endmacro %}


{#- Whether values that are left unchanged may come from another key. -#}
{% macro _carries_values(extras) -%}
    {{ return('_old_key' in extras and '_unchanged' in extras) }}
{%- endmacro %}


{% macro create_persisted_view(collection, shard, values, options) -%}
    {%- set frontier = trueup._session_name(collection, 'frontier') -%}
    {%- do trueup.create_session_view(trueup._session_name(collection, 'persisted'),
        trueup.select_persisted(
            shard.state, shard.changelog, shard.unique_key, values, frontier ~ '.lower', options
        )
    ) -%}
{%- endmacro %}


{#- Whether a correction was found after the last batch, and is for the next. -#}
{% macro is_waiting_expr(last_batch_id) -%}
_after_batch_id <=> {{ last_batch_id }} and not (_cause <=> 'external_edit')
{%- endmacro %}


{#- The corrections that were found after the batch that is now the last one. -#}
{% macro select_waiting(corrections, frontier, unique_key, values) -%}
select
    {{ trueup._column_list(unique_key + ['_error_key']) }},
    -- Of the comparison that the upper is of, or in the tick that is open.
    least(_ts, greatest({{ frontier }}.lower, {{ frontier }}.upper - 1)) as _ts,
    _cause,
    case when _desired is not null then named_struct(
        {%- for name in values %}
        {{ trueup._literal(name) }}, _desired.{{ trueup._quote(name) }},
        {%- endfor %}
        '_error', _desired._error
    ) end as _value
from {{ corrections }}
where {{ trueup.is_waiting_expr(frontier ~ '.last_batch_id') }}
{%- endmacro %}


{#- The updates that eager batches have written for ticks that are still open. -#}
{% macro select_provisional(changelog, frontier, unique_key, columns) -%}
    {%- set values = trueup._value_names(columns, unique_key) -%}
select
    {{ trueup._column_list(unique_key + ['_error_key']) }},
    _ts,
    _cause,
    _diff,
    struct({{ trueup._column_list(values + ['_error']) }}) as _value,
    {{ trueup.digest_expr(unique_key, columns) }} as _digest
from {{ changelog }}
where {{ trueup.is_provisional_expr(frontier ~ '.lower') }}
{%- endmacro %}
