{#-
    The views of the Spark session that the staged batch reads: made where columns are known by
    name, which the model cannot know while it is compiled.
-#}

{#- `steps` has all that happens to the keys of the batch; `provisional` is for eager collections. -#}
{% macro create_batch_views(collection, shard, corrections, options) -%}
    {%- set columns = trueup.follow_columns(shard, options) -%}
    {%- set frontier = trueup._session_name(collection, 'frontier') -%}
    {%- set values = trueup._value_names(columns, shard.unique_key) -%}
    {%- set input = none if shard.is_by_select else trueup.select_input(
        shard.commands, frontier ~ '.lower', frontier ~ '.open_upper', shard.unique_key,
        columns, shard.columns, shard.extras, options,
        partitions=frontier ~ '.partitions' if '_offset' in shard.extras
    ) -%}
    {%- set persisted = trueup.select_persisted(
        shard.state, shard.changelog, shard.unique_key, values, frontier ~ '.lower', options
    ) -%}
    {%- set waiting = trueup.select_waiting(corrections, frontier, shard.unique_key, columns)
        if corrections else none -%}
    {%- set changes = shard.frontier.commands_ahead + shard.frontier.correction_count -%}
    {%- set key_range = trueup.get_key_range(
        trueup.select_first_keys([input, waiting], shard.unique_key, shard.extras),
        shard.unique_key, columns
    ) if trueup._can_look_ahead(shard, options)
        and trueup._pays_to_look(changes, shard.frontier.records_indexed) else none -%}
    {%- set steps = trueup.carry_values(
        collection,
        trueup.select_steps(
            trueup._subquery(input) if input else none, trueup._subquery(persisted),
            trueup._subquery(waiting) if waiting else none, shard.unique_key, values, shard.extras,
            shard.frontier.has_truncates, options, is_small=trueup._fits_memory(changes),
            key_range=key_range
        ),
        shard, values, options
    ) -%}
    {%- do trueup.create_session_view(
        trueup._session_name(collection, 'steps'),
        trueup.digest_steps(steps, shard.unique_key, columns)
    ) -%}
    {%- if options.eager -%}
        {%- do trueup.create_session_view(trueup._session_name(collection, 'provisional'),
            trueup.select_provisional(shard.changelog, frontier, shard.unique_key, columns)
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Whether so many changes fit into memory, even long ones. Then each core gets all of their keys, and
    the state is read where it lies; else both are shuffled. What counts is all that the log has ahead,
    though the batch may be cut before.
-#}
{% macro _fits_memory(changes) -%}
    {{ return(changes <= 200000) }}
{%- endmacro %}


{#-
    The steps with what they carry from key to key, as a select. Where they may carry anything they are
    read many times in one statement: they are written to a table, which `drop_kept_steps` drops again.
-#}
{% macro carry_values(collection, steps, shard, values, options) -%}
    {%- if not trueup._carries_values(shard.extras) -%}
        {{ return(steps) }}
    {%- endif -%}
    {%- set kept = trueup._kept_steps() -%}
    {%- set bases = trueup._session_name(collection, 'bases') -%}
    {%- set resolved = trueup._session_name(collection, 'resolved') -%}
    {%- do run_query(trueup.create_table_sql(kept, steps, replace=true)) -%}
    {%- do trueup.create_session_view(bases, trueup.select_bases(
        kept, shard.unique_key + ['_error_key'], trueup._sequence_terms(options)
    )) -%}
    {%- do trueup.create_session_view(resolved, trueup.resolve_bases(bases, values)) -%}
    {{ return(trueup.select_carried(kept, resolved, values)) }}
{%- endmacro %}


{#- The steps, a select, with the digest of each value, as a select. -#}
{% macro digest_steps(steps, unique_key, columns) -%}
select
    *,
    case
        when _value is not null
            then {{ trueup.digest_expr(unique_key, columns, in_value=true) }}
    end as _digest
from {{ trueup._subquery(steps) }}
{%- endmacro %}


{#- Drops the table that `carry_values` has written, if it did. -#}
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


{#- The corrections that were found after the batch that is now the last one. -#}
{% macro select_waiting(corrections, frontier, unique_key, columns) -%}
select
    {% for column in columns | selectattr('name', 'in', unique_key) -%}
    {%- set name = trueup._quote(column.name) -%}
    -- A table of corrections that was made before a rebase may have another type.
    cast({{ name }} as {{ trueup._type_sql(column.type) }}) as {{ name }},
    {% endfor -%}
    _error_key,
    -- Of the comparison that the upper is of, or in the tick that is open.
    least(_ts, greatest({{ frontier }}.lower, {{ frontier }}.upper - 1)) as _ts,
    _cause,
    case when _desired is not null then named_struct(
        {%- for name in trueup._value_names(columns, unique_key) %}
        {{ trueup._literal(name) }}, _desired.{{ trueup._quote(name) }},
        {%- endfor %}
        '_error', _desired._error
    ) end as _value
from {{ corrections }}
where _after_batch_id <=> {{ frontier }}.last_batch_id and not (_cause <=> 'external_edit')
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
