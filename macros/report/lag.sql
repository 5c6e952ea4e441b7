{#- How far each collection is behind its log, or behind the collections that its SELECT reads. -#}

{#-
    One row for each collection. `changelogs` are tables by collection. The logs of the collections in
    `unread` are not read: one log that cannot be read would make the view fail for all collections.
-#}
{% macro _lag_select(changelogs, unread=[]) -%}
with

{{ trueup._listed_ctes(changelogs) }},

progress as (

    {{ trueup._progress_rows_select(changelogs) | indent }}

),

committed as (

    select
        collection,
        max_by(_upper, _seq) as frontier,
        max_by(_statistics.committed_at, _seq) as committed_at
    from progress
    group by collection

),

ahead as (
    {% for collection, changelog in changelogs.items() %}
    {%- set input = trueup._input_of_collection(collection, changelog) if collection not in unread else {} %}
    select
        {{ trueup._literal(collection) }} as collection,
        {{ 'true' if trueup._has_known_end(input) else 'false' }} as has_end,
        *
    from {{ trueup._subquery(trueup._input_ahead_select(input, changelog, changelogs)) }} as input
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

ends as (

    select
        listed.collection,
        committed.* except (collection),
        ahead.* except (collection),
        -- `greatest` ignores a null: a log without new commands ends at the frontier.
        case when ahead.has_end then greatest(ahead.upper, committed.frontier) end as log_upper
    from listed
    left join committed on listed.collection = committed.collection
    left join ahead on listed.collection = ahead.collection

)

select
    collection,
    frontier,
    log_upper,
    log_upper - frontier as ticks_behind,
    commands as commands_waiting,
    commands_to_settle,
    committed_at,
    unix_seconds(current_timestamp()) - unix_seconds(committed_at) as seconds_since_commit
from ends
{%- endmacro %}


{#- Whether the end of an input is known: yes for a log with ticks, and for `of` without a schedule. -#}
{% macro _has_known_end(input) -%}
    {{ return(
        not input.is_reclocked if input.get('commands')
        else input.get('of') and not input.refresh
    ) }}
{%- endmacro %}


{#-
    One row: `commands` that are not settled, the end of their ticks, and `commands_to_settle`. `input` is what
    `_input_of_collection` returns. For a SELECT only the end of the ticks is known, if the option `of` says what
    it reads: then the end is that of their states. A SELECT with the option `refresh` has no lag: it follows its
    schedule. `changelogs` are the tables of all monitored collections.
-#}
{% macro _input_ahead_select(input, changelog, changelogs) -%}
    {%- if input.get('commands') -%}
        {{ return(trueup._commands_ahead_select(
            dict(input, changelog=changelog),
            '(select max(_upper) from ' ~ changelog ~ " where _kind = 'progress')"
        )) }}
    {%- endif -%}
    {%- set states = [] -%}
    {%- for name in input.get('of') or [] if trueup._has_known_end(input) -%}
        {%- do states.append(trueup._state_of_input(name, changelogs, input.is_deferred)) -%}
    {%- endfor -%}
    {{ return(trueup._unknown_lag_select(
        trueup._least_upper_expr(states) if states else 'cast(null as bigint)'
    )) }}
{%- endmacro %}


{#-
    The state of a collection that a SELECT reads. With `--defer` it may be in another schema, in two cases: the
    SELECT is deferred (`is_deferred`), or the changelog of this collection is (`changelogs`).
-#}
{% macro _state_of_input(collection, changelogs, is_deferred) -%}
    {%- set here = trueup._named_relation(collection, collection ~ '_state', 'report') -%}
    {%- if is_deferred or trueup._input_of_collection(collection, changelogs.get(collection)).is_deferred -%}
        {%- set node = trueup._enabled_models(collection ~ '_state') | first -%}
        {{ return(trueup._relation_of_node(node.defer_relation)) }}
    {%- endif -%}
    {{ return(here) }}
{%- endmacro %}


{#- The row of a collection whose commands are not known. -#}
{% macro _unknown_lag_select(upper) -%}
select
    cast(null as bigint) as commands,
    {{ upper }} as upper,
    cast(null as bigint) as commands_to_settle
{%- endmacro %}
