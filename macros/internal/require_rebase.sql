{#-
    A rebase drops the changelog and starts again from the log: `--full-refresh` with the var
    `trueup_rebase`. The batch begins it: it drops changelog and state, and plans a batch from `as_of`. The
    changelog and the state complete it. The commands must be part of it, because they may have changed. In
    a collection by a select the corrections begin it. Without the var a changelog is never refreshed.
-#}

{#-
    Whether this run asks for a rebase. A model with the config `full_refresh: false` must not take such a run for an
    ordinary one: the rebase is refused.
-#}
{% macro _is_rebase() -%}
    {{ return((should_full_refresh() or flags.FULL_REFRESH) and trueup._var('trueup_rebase')) }}
{%- endmacro %}


{#- Raises if `--full-refresh` would drop history, but the var does not ask for it. -#}
{% macro _require_rebase(collection) -%}
    {%- if not trueup._var('trueup_rebase') -%}
        {%- do trueup._raise_error(
            'Var `trueup_rebase`',
            'true for --full-refresh of ' ~ this ~ ', the only copy of its history', 'false',
            'To rebuild the state from the changelog: ' ~ trueup._rebuild_command(collection)
            ~ '. To throw the history away and start again from the log: '
            ~ trueup._rebase_command(collection)
        ) -%}
    {%- endif -%}
    {%- do trueup._require_whole_rebase(collection) -%}
{%- endmacro %}


{#-
    Raises unless a rebase writes, selects commands, batch, changelog and state, and is allowed for each model that
    takes part. One model drops the tables of the others, so their config `full_refresh` is read here.
-#}
{% macro _require_whole_rebase(collection) -%}
    {%- if trueup._var('trueup_read_only') -%}
        {%- do trueup._raise_error(
            'A rebase', 'a run that writes', 'var trueup_read_only: true',
            'Leave out the var trueup_read_only or the var trueup_rebase.'
        ) -%}
    {%- endif -%}
    {%- set roles = [trueup._source_role(collection), 'batch', 'changelog', 'state'] -%}
    {%- if trueup._is_by_select(collection) -%}
        {%- do roles.insert(1, 'corrections') -%}
    {%- endif -%}
    {%- for role in roles -%}
        {%- set name = collection ~ '_' ~ role -%}
        {%- if trueup._model_id(name) not in selected_resources -%}
            {%- do trueup._raise_error(
                'A rebase', 'a run of ' ~ (roles[:-1] | join(', ')) ~ ' and state',
                'a selection without ' ~ name,
                'Run: ' ~ trueup._rebase_command(collection)
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for role in roles[1:] if trueup._is_never_refreshed(collection ~ '_' ~ role) -%}
        {%- do trueup._raise_error(
            'The config `full_refresh` of ' ~ collection ~ '_' ~ role, 'true or left out for a rebase', 'false',
            'Nothing is dropped. Leave this collection out of the run, or change the config.'
        ) -%}
    {%- endfor -%}
{%- endmacro %}
