{#-
    Apply: step 5 of a run. Merges the tail of the changelog into the state; `--full-refresh`
    rebuilds the state from the whole changelog. The changelog is all that is read.
-#}
{% materialization trueup_state, adapter='spark' %}
    {%- set options = trueup._options() -%}
    {%- set unique_key = trueup._unique_key('state') -%}
    {%- set collection = trueup._collection_of('state') -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set changelog = trueup._sibling(collection, 'changelog') -%}

    {{ run_hooks(pre_hooks) }}

    {%- do trueup._require_made(collection, changelog, by='batch') -%}
    {%- do trueup.require_same_key(changelog, unique_key) -%}
    {%- if should_full_refresh() -%}
        {%- set rehydrated = trueup.rehydrate_sql(changelog, unique_key) -%}
        {%- call statement('main') -%}
            {{ trueup.create_table_sql(target_relation, rehydrated, replace=true) }}
        {%- endcall -%}
        {%- do trueup._report('rebuilt from the changelog') -%}
    {%- else -%}
        {%- do trueup.create_state(changelog, target_relation, unique_key) -%}
        {%- set position = trueup.get_position(changelog, target_relation) -%}
        {%- do trueup._require_changelog_ahead(collection, position) -%}
        {%- if position.applied_seq == position.last_seq -%}
            {%- do trueup._no_op('up to date at batch ' ~ position.applied_seq) -%}
        {%- else -%}
            {%- set net_updates = trueup.get_net_updates(
                collection, changelog, unique_key, position.applied_seq, compiled_code
            ) -%}
            {%- call statement('main') -%}
                {{ trueup.apply_updates_sql(target_relation, net_updates, unique_key) }}
            {%- endcall -%}
            {%- do trueup._report('applied batch ' ~ position.last_seq) -%}
            {%- do trueup.maintain_when_due(target_relation, changelog, options, position) -%}
        {%- endif -%}
    {%- endif -%}

    {%- do trueup._finish(target_relation) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#- The last batch of the changelog and of the state. A dict: `last_seq`, `applied_seq`. -#}
{% macro get_position(changelog, state) -%}
    {{ return(run_query(trueup.position_sql(changelog, state)).rows[0].dict()) }}
{%- endmacro %}


{% macro position_sql(changelog, state) -%}
with

-- The state is read before the changelog: whatever other runs commit in between, it is not ahead.
state_progress as (

    select max(_seq) as applied_seq from {{ state }} where _kind = 'progress'

),

changelog_progress as (

    select coalesce(max(_seq), 0) as last_seq from {{ changelog }} where _kind = 'progress'

)

select
    applied_seq,
    last_seq
from state_progress
cross join changelog_progress
{%- endmacro %}


{#-
    The select of what the batches after `applied_seq` make of the state: `in_sequence`, the
    model's own, unless they take back what was written before for ticks that were open then.
    Declares the variable `applied`.
-#}
{% macro get_net_updates(collection, changelog, unique_key, applied_seq, in_sequence=none) -%}
    {%- do run_query(trueup.declare_applied_sql(collection, applied_seq)) -%}
    {%- set takes_back = run_query(trueup.takes_back_sql(changelog, applied_seq)).rows[0][0] -%}
    {{ return(in_sequence if in_sequence and not takes_back else trueup.consolidate_tail(
        changelog=changelog,
        applied=trueup._session_name(collection, 'applied'),
        identity=unique_key + ['_error_key'],
        takes_back=takes_back
    )) }}
{%- endmacro %}


{#- Whether one of the batches before the last left ticks open: the next one takes them back. -#}
{% macro takes_back_sql(changelog, applied_seq) -%}
select
    coalesce(min(_seq) filter (where _statistics.open_upper > _upper) < max(_seq), false)
from {{ changelog }}
where _kind = 'progress' and _seq >= {{ applied_seq }}
{%- endmacro %}
