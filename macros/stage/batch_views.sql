{#-
    The views of the Spark session that the staged batch reads: made where columns are known by
    name, which the model cannot know while it is compiled.
-#}

{#- `steps` has all that happens to the keys of the batch; `provisional` is for eager collections. -#}
{% macro _ensure_batch_views(collection, shard, corrections, options) -%}
    {%- do trueup._require_own_ctes() -%}
    {%- set columns = trueup._ensure_followed_columns(shard, options) -%}
    {%- set frontier = trueup._session_name(collection, 'frontier') -%}
    {%- set values = trueup._value_names(columns, shard.unique_key) -%}
    {%- set input = none if shard.is_by_select else trueup._input_select(
        shard.commands, frontier ~ '.lower', frontier ~ '.open_upper', shard.unique_key,
        columns, shard.columns, shard.extras, options,
        partitions=frontier ~ '.partitions' if '_offset' in shard.extras,
        may_truncate=shard.frontier.has_truncates
    ) -%}
    {%- set persisted = trueup._persisted_select(
        shard.state, shard.changelog, shard.unique_key, values, frontier ~ '.lower', options
    ) -%}
    {%- set waiting = trueup._pending_corrections_select(corrections, frontier, shard.unique_key, columns)
        if corrections else none -%}
    {%- set changes = shard.frontier.commands_ahead + shard.frontier.correction_count -%}
    {%- set key_range = trueup._get_batch_range(shard, input, waiting, columns, changes, options) -%}
    {%- set steps = trueup._ensure_carried_values(
        collection,
        trueup._steps_select(
            trueup._subquery(input) if input else none, trueup._subquery(persisted),
            trueup._subquery(waiting) if waiting else none, shard.unique_key, values, shard.extras,
            shard.frontier.has_truncates, options, broadcasts=trueup._can_broadcast_keys(changes),
            key_range=key_range
        ),
        shard, values, options
    ) -%}
    {%- set steps = trueup._digested_steps_select(steps, shard.unique_key, columns) -%}
    {%- if trueup._is_folded_by_udaf(options) -%}
        {%- set steps = trueup._encoded_steps_select(steps, shard.unique_key, columns) -%}
    {%- endif -%}
    {%- do trueup._ensure_session_view(trueup._session_name(collection, 'steps'), steps) -%}
    {%- if options.eager -%}
        {%- do trueup._ensure_session_view(trueup._session_name(collection, 'provisional'),
            trueup._provisional_select(shard.changelog, frontier, shard.unique_key, columns)
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The steps, a select, with the digest of each value, as a select. -#}
{% macro _digested_steps_select(steps, unique_key, columns) -%}
select
    *,
    case
        when _value is not null
            then {{ trueup._digest_expr(unique_key, columns, in_value=true) }}
    end as _digest
from {{ trueup._subquery(steps) }}
{%- endmacro %}


{#-
    Raises where Spark writes a CTE out at each place that names it, in statements that write. The
    batch relies on one CTE that is worked out once: else its updates and its certificate would each
    read the log for themselves, maybe at different moments.
-#}
{% macro _require_own_ctes() -%}
    {%- set setting = 'spark.sql.legacy.inlineCTEInCommands' -%}
    {%- if run_query('set ' ~ setting).rows[0][1] | string | lower == 'true' -%}
        {%- do trueup._raise_error(
            'The Spark setting `' ~ setting ~ '`', 'false, because the steps of a batch are read once',
            'true', 'Leave it out of the profile, the hooks and the configuration of Spark.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
