{#-
    The view `steps` of the Spark session: the commands of the batch and what is persisted for
    their keys in one row form: identity, `_step`, `_ts`, the terms of the sequence, and `_value`, a
    struct of the value columns and `_error`, or null for no value.

    Steps of a key, in sequence: 0 what is persisted (no `_ts`), 1 a correction at the lower,
    2 the commands. Nothing makes step 1 yet.

    `values` are the names of the value columns, `extras` the columns of the commands that only
    some logs have. `has_truncates` says whether the log has truncates that are not settled: they
    touch every key.
-#}
{% macro steps_view_sql(collection, state, unique_key, values, extras, has_truncates, options) -%}
    {%- set identity = unique_key + ['_error_key'] -%}
    {%- set sequence = trueup._sequence_terms(options) -%}
    {%- set changes_keys = '_old_key' in extras and '_unchanged' in extras -%}
    {%- set marks = ['_unchanged'] if '_unchanged' in extras else [] -%}
    {%- set marks = marks + (['_old_key'] if changes_keys else []) -%}
    {%- set source = 'prior_and_commands' -%}
create or replace temporary view {{ trueup._session_name(collection, 'steps') }} as
with

commands as (

    select * from {{ trueup._session_name(collection, 'input') }}

),

{{ trueup.read_prior(
    state, identity, values, sequence, marks, every_key=has_truncates
) }}
{%- if has_truncates -%}
    {%- set source = 'steps_and_truncations' -%}
,

{{ trueup.truncate_keys(identity, sequence, marks) }}
{%- endif %}
{%- if '_unchanged' in extras -%}
,

{{ trueup.fill_unchanged(source, identity, values, sequence, changes_keys) }}
    {%- set source = 'filled' -%}
    {%- if changes_keys -%}
        {%- set source = 'carried' -%}
,

{{ trueup.carry_unchanged(identity, values, sequence) }}
    {%- endif -%}
{%- endif %}

select {{ trueup._column_list(identity) }}, _step, _ts, {{ sequence | join(', ') }}
from {{ source }}
{%- endmacro %}


{#-
    What puts the commands of one key and one tick in sequence, the last one wins: the order; where
    the option `ties` prefers deletes or upserts, that; the hash of the content; the content.
-#}
{% macro _sequence_terms(options) -%}
    {%- set prefers = options.ties in ['prefer_delete', 'prefer_upsert'] -%}
    {{ return(['_order'] + (['_is_preferred'] if prefers else []) + ['_hash', '_value']) }}
{%- endmacro %}


{#- CTEs that put what is persisted before the commands; they end with `prior_and_commands`. -#}
{% macro read_prior(state, identity, values, sequence, marks, every_key) -%}
    {%- set columns = trueup._column_list(identity) -%}
    {%- set own = ['_step', '_ts'] + sequence + marks -%}
-- Whose value before the batch has to be known; of a key that changes, the old one's.
touched as (

    select {{ columns }} from commands
    {% if '_old_key' in marks -%}
    union all
    select _old_key.*, null as _error_key from commands where _old_key is not null
    {% endif %}
),

-- Rule: the prior value is what is persisted, never what a run believes that it wrote.
prior as (

    select
        {{ columns }},
        0 as _step,
        cast(null as bigint) as _ts,
        {% for name in sequence[:-1] + marks -%}
        null as {{ name }},
        {% endfor -%}
        struct({{ trueup._column_list(values + ['_error']) }}) as _value
    from {{ state }} as persisted
    {% if not every_key -%}
    left semi join touched on {{ trueup._same_key(identity, 'persisted', 'touched') }}
    {% endif -%}
    where _kind <> 'progress'

),

prior_and_commands as (

    select {{ columns }}, {{ own | join(', ') }} from prior
    union all
    select {{ columns }}, {{ own | join(', ') | replace('_step', '2 as _step') }} from commands

)
{%- endmacro %}


{#-
    CTEs that make of each truncate a delete of every key that has a value by then; they end with
    `steps_and_truncations`. Only the first truncate after a step can find its value, and of several
    in one tick the last does all. It is older than a command of the same order, which stays.
-#}
{% macro truncate_keys(identity, sequence, marks) -%}
    {%- set columns = trueup._column_list(identity) -%}
last_truncates as (

    select _ts, max(_order) as _order
    from commands
    where _error_key = 'truncate'
    group by _ts

),

truncates as (

    select collect_list(struct(_ts, _order)) as _positions from last_truncates

),

truncations as (

    select
        {{ columns }},
        array_min(filter(
            _positions, _position -> _position > struct(_ts, _order)
        )) as _first
    from prior_and_commands
    cross join truncates
    where _value is not null

),

steps_and_truncations as (

    select * from prior_and_commands
    union all
    select distinct
        {{ columns }},
        2 as _step,
        _first._ts,
        _first._order,
        {% for name in sequence[1:] + marks -%}
        null as {{ name }}{{ ',' if not loop.last }}
        {% endfor -%}
    from truncations
    where _first is not null

)
{%- endmacro %}
