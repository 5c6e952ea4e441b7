{#-
    What the changelog's tail makes of the state, as a select: for each key that the tail touches
    its last update, and the progress row. See the YAML beside this file.

    The variable `applied` of the Spark session, the last batch that the state holds, is declared
    by the materialization `trueup_state`.
-#}
{% macro state(collection) -%}
    {{- config(materialized='trueup_state') -}}
    {%- do trueup._require_role('state', collection) -%}
{{ trueup.consolidate_tail(
    changelog=ref(collection ~ '_changelog'),
    applied=trueup._session_name(collection, 'applied'),
    identity=trueup._unique_key('state') + ['_error_key'],
    eager_state=trueup._eager_state(collection)
) }}
{%- endmacro %}


{#-
    The state of an eager collection, else none: what `consolidate_tail` has to start from where
    updates of a tick may be taken back by later ones.
-#}
{% macro _eager_state(collection) -%}
    {{ return(trueup._sibling(collection, 'state') if trueup._options().eager) }}
{%- endmacro %}


{#-
    A select of the net effect of the batches after `applied`: the columns of the state, `_diff`
    (1 the row is there, -1 it is gone) and `_applied`. Within a batch and a tick the retraction
    of a key comes before its addition, so that the last update says what became of it.

    With `eager_state` the tail may take back what an earlier batch wrote for a tick that was open
    then. The last update of a key says nothing any more: the tail is consolidated with the state.
-#}
{% macro consolidate_tail(changelog, applied, identity, eager_state=none) -%}
    {%- set columns = trueup._column_list(identity) -%}
    {%- set value = 'struct(' ~ trueup._all_but(identity + trueup._update_columns()) ~ ')' -%}
    {#- A correction has a cause, and comes before the commands of its tick. -#}
    {%- set position = 'struct(_seq, _ts, _cause is null as _is_command, _diff)' -%}
with

tail as (

    select * from {{ changelog }} where _seq > {{ applied }}

),

{% if eager_state -%}
{{ trueup.consolidate_with_state(eager_state, identity) }},
{%- else -%}
last_updates as (

    select
        {{ columns }},
        max_by({{ value }}, {{ position }}) as _value,
        max({{ position }}) as _last
    from tail
    where _kind = 'update'
    group by {{ columns }}

),
{%- endif %}

last_progress as (

    select
        {% for name in identity -%}
        max_by({{ trueup._quote(name) }}, _seq) as {{ trueup._quote(name) }},
        {% endfor -%}
        max_by({{ value }}, _seq) as _value,
        coalesce(max(_seq), {{ applied }}) as _seq,
        max_by(_upper, _seq) as _upper
    from tail
    where _kind = 'progress'

)

select
    {{ trueup._column_list(identity[:-1]) }},
    _value.*,
    _error_key,
    _last._ts,
    case when _value._error is null then 'row' else 'error' end as _kind,
    _last._seq,
    cast(null as bigint) as _upper,
    _last._diff,
    {{ applied }} as _applied
from last_updates

union all

select
    {{ trueup._column_list(identity[:-1]) }},
    _value.*,
    _error_key,
    null as _ts,
    'progress' as _kind,
    _seq,
    _upper,
    1 as _diff,
    {{ applied }} as _applied
from last_progress
{%- endmacro %}


{#-
    CTEs that consolidate the tail with what the state has of its keys; they end with
    `last_updates`. The tick of a value's last change is the last one at which it was added and not
    taken back.
-#}
{% macro consolidate_with_state(state, identity) -%}
    {%- set columns = trueup._column_list(identity) -%}
    {%- set position = ['_ts', '_diff', '_seq'] -%}
tail_updates as (

    select {{ trueup._all_but(trueup._update_columns() | reject('in', position)) }}
    from tail
    where _kind = 'update'

),

persisted as (

    select {{ trueup._all_but(trueup._state_columns() | reject('in', position)) }}, 1 as _diff
    from {{ state }} as state_rows
    left semi join tail_updates
        on {{ trueup._same_key(identity, 'state_rows', 'tail_updates') }}
    where _kind <> 'progress'

),

-- By name: somebody may have put the columns of the state in another sequence.
both_sides as (

    select * from tail_updates
    union all by name
    select * from persisted

),

state_and_tail as (

    select
        {{ columns }},
        struct({{ trueup._all_but(identity + position) }}) as _value,
        _ts,
        _diff,
        _seq
    from both_sides

),

value_ticks as (

    select {{ columns }}, _value, _ts, sum(_diff) as _diff, max(_seq) as _seq
    from state_and_tail
    group by {{ columns }}, _value, _ts

),

key_values as (

    select
        {{ columns }},
        _value,
        max(_ts) filter (where _diff > 0) as _ts,
        max(_seq) as _seq,
        sum(_diff) as _diff
    from value_ticks
    group by {{ columns }}, _value

),

last_updates as (

    select
        {{ columns }},
        max_by(_value, _diff) as _value,
        named_struct(
            '_seq', max(_seq), '_ts', max_by(_ts, _diff), '_diff', if(max(_diff) > 0, 1, -1)
        ) as _last
    from key_values
    group by {{ columns }}

)
{%- endmacro %}
