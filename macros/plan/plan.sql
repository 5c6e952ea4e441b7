{#-
    Brings the tables of a collection up to date, and plans the run. Returns the plan, a dict; see
    docs/objects.md. `corrections` is the table of corrections that the batch takes in, or none.
-#}
{% macro _ensure_plan(collection, corrections=none, is_rebase=false, heals=false) -%}
    {#- The corrections of this run may have brought the tables up to date already. -#}
    {%- set found = none if is_rebase or corrections else trueup._finding(collection, 'progress') -%}
    {%- set progress = found or trueup._ensure_progress(collection, corrections, is_rebase, heals) -%}
    {%- set input_upper = trueup._ensure_input_upper(collection, progress) -%}
    {%- set part = dict(trueup._ensure_log_part(collection, progress), input_upper=input_upper) -%}
    {%- set commands = part.commands -%}
    {%- if '_offset' in collection.extras -%}
        {%- do trueup._require_no_correction_of_offsets(collection.options) -%}
        {%- set commands = trueup._ensure_reclocked_view(collection, progress, commands) -%}
    {%- endif -%}
    {%- set measured = trueup._ensure_measured_log(
        collection, progress, corrections, commands,
        dict(part, changelog=collection.changelog if found else none)
    ) -%}
    {%- if found and measured.last_seq_now != found.last_seq -%}
        {#- Another run has appended a batch since the corrections. -#}
        {%- do trueup._keep_finding(collection, 'progress', none) -%}
        {{ return(trueup._ensure_plan(collection, heals=heals)) }}
    {%- endif -%}
    {%- set plan = dict(
        progress, definition=trueup._definition(collection.name, collection.options),
        tick=measured.lower, commands=commands, whole_log_reason=part.whole_log_reason,
        is_log_pinned=part.snapshot is not none,
        begins_orders=trueup._must_begin_orders(collection.options, progress),
        takes_late=trueup._must_take_late(collection, progress, part, measured),
        tombstones=trueup._get_tombstones(collection, progress),
        state_verified_by=trueup._finding(collection, 'state_verified_by'), **measured
    ) -%}
    {%- set plan = dict(plan, position=trueup._next_log_position(part, plan)) -%}
    {%- do trueup._require_settleable(collection, plan) -%}
    {{ return(plan) }}
{%- endmacro %}


{#-
    Brings the tables of a collection up to date, and returns where they stand: the part of the plan that
    does not come from the log. Missing tables are made, also those that a rebase has dropped. The state
    catches up with the changelog. With `heals` a lost state is left for the heal.
-#}
{% macro _ensure_progress(collection, corrections=none, is_rebase=false, heals=false) -%}
    {%- if is_rebase -%}
        {%- do trueup._ensure_dropped_for_rebase(collection) -%}
    {%- endif -%}
    {%- set is_state_missing = heals and trueup._ensure_empty_lost_state(collection) -%}
    {%- do trueup._ensure_tables(collection) -%}
    {%- set progress = trueup._get_progress(collection, corrections) -%}
    {%- do trueup._require_known_format(collection.changelog, progress.format) -%}
    {%- do trueup._require_undamaged(collection.changelog, progress.unsealed_seq) -%}
    {%- set is_state_lost = heals and trueup._get_is_state_lost(collection, is_state_missing, progress) -%}
    {%- if not is_state_lost -%}
        {%- do trueup._ensure_caught_up(collection, progress) -%}
    {%- endif -%}
    {{ return(dict(progress, is_state_lost=is_state_lost)) }}
{%- endmacro %}
