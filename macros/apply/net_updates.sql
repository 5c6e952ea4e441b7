{#-
    The select of the net updates of the batches after `tail.applied_seq`. It is `model_select`, the
    select of the model, unless these batches retract earlier updates of open ticks. Declares the variable
    `applied` of the Spark session: the last batch that the state has applied.
-#}
{% macro _ensure_net_updates(collection, tail, model_select=none) -%}
    {%- set applied = trueup._session_name(collection.name, 'applied') -%}
    {%- do trueup._ensure_session_variable(applied, 'bigint default ' ~ tail.applied_seq) -%}
    {%- set takes_back = tail.takes_back -%}
    {{ return(model_select if model_select and not takes_back else trueup._net_updates_select(
        changelog=collection.changelog,
        applied=applied,
        identity=collection.identity,
        takes_back=takes_back
    )) }}
{%- endmacro %}


{#-
    A select of the net effect of the batches after `applied`: the columns of the state, `_diff` (1 if the
    row exists, else the row is gone) and `_applied`. Within a batch and a tick the retraction of a key
    comes before its addition. So the last update of a key gives its result.

    If the tail `takes_back` provisional updates of an eager batch, this is not true. Then the select
    consolidates the whole history of each key, and takes the last update that is left.
-#}
{% macro _net_updates_select(changelog, applied, identity, takes_back=false) -%}
    {%- set columns = trueup._column_list(identity) -%}
    {%- set value = 'struct(' ~ trueup._all_but_list(identity + trueup._update_columns()) ~ ')' -%}
    {#- A correction has a cause. It comes before the commands of its tick. -#}
    {%- set position = 'struct(_seq, _ts, _cause is null as _is_command, _diff)' -%}
with

tail as (

    select * from {{ changelog }} where _seq > {{ applied }}

),

{% if takes_back -%}
{{ trueup._history_ctes(changelog, identity, value) }},
{%- else -%}
last_updates as (

    select
        {{ columns }},
        max_by({{ value }}, {{ position }}) as _value,
        max({{ position }}) as _last
    from tail
    where {{ trueup._is_content_expr() }}
    group by {{ columns }}

),
{%- endif %}

last_progress as (

    select
        {% for name in identity -%}
        max_by({{ trueup._quoted(name) }}, _seq) as {{ trueup._quoted(name) }},
        {% endfor -%}
        max_by({{ value }}, _seq) as _value,
        coalesce(max(_seq), {{ applied }}) as _seq,
        max_by({{ trueup._sealed_upper_expr(changelog) }}, _seq) as _upper
    from tail
    where _kind = 'progress'

)

select
    {{ trueup._column_list(identity[:-1]) }},
    _value.*,
    _error_key,
    _last._ts,
    {{ trueup._kind_expr('_value._error') }} as _kind,
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
    CTEs that consolidate the whole history of the keys of the tail. If nothing is left of a key, its
    `_diff` is 0.

    Reads: `tail`, the relation `changelog`. Ends with: `last_updates`.
-#}
{% macro _history_ctes(changelog, identity, value) -%}
    {%- set columns = trueup._column_list(identity) -%}
history as (

    select {{ columns }}, {{ value }} as _value, _ts, _diff, _seq
    from {{ changelog }} as changelog
    left semi join tail
        on {{ trueup._is_content_expr('tail') }} and {{ trueup._same_key_expr(identity, 'changelog', 'tail') }}
    where {{ trueup._is_content_expr() }}

),

-- A retracted provisional update leaves no update at its tick.
ticks as (

    select {{ columns }}, _value, _ts, sum(_diff) as _diff, max(_seq) as _seq
    from history
    group by {{ columns }}, _value, _ts

),

last_updates as (

    select
        {{ columns }},
        max_by(_value, struct(_diff <> 0, _ts, _diff)) as _value,
        max_by(struct(_seq, _ts, _diff), struct(_diff <> 0, _ts, _diff)) as _last
    from ticks
    group by {{ columns }}

)
{%- endmacro %}
