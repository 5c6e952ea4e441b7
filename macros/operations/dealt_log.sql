{#-
    The settled commands of a sample of keys, and all truncates, dealt into batches, as a select. Each command is
    dealt up to three times (`_step_copy`), in another sequence. A batch (`_step_batch`) begins at each of some
    ticks. All choices depend on the seed alone.
-#}
{% macro _dealt_commands_select(collection, draw, upper) -%}
    {%- set seed = draw.seed -%}
with

log as (

{{ trueup._settled_log_select(collection, upper) }}

),

sample as (

    {% if trueup._has_carried_values(collection.extras) -%}
    select inline({{ trueup._session_name(collection.name, 'dealt_sample') }})
    {%- else -%}
{{ trueup._drawn_keys_select(collection, draw) }}
    {%- endif %}

),

sampled as (

    select log.*
    from log
    left semi join sample on {{ trueup._same_key_expr(collection.identity, 'log', 'sample') }}
    where not _is_truncate
    union all
    select * from log where _is_truncate

),

cuts as (

    select collect_list(_ts) as _positions
    from (
        select distinct _ts from sampled
        order by xxhash64({{ seed }}, _ts), _ts
        limit {{ draw.batches - 1 }}
    )

)

select
    sampled.*,
    _step_copy,
    1 + size(filter(_positions, _position -> _position <= _ts)) as _step_batch
from sampled
cross join cuts
lateral view explode(sequence(1, 1 + pmod(xxhash64({{ seed }}, _ts, _hash), 3))) copies as _step_copy
distribute by pmod(xxhash64({{ seed }}, _hash, _step_copy), 7)
sort by xxhash64({{ seed }}, _step_copy, _hash)
{%- endmacro %}


{#-
    The updates after a dealt batch, as a select of one array: those of the batches before it, and those that the
    fold makes of its commands and of what the batches before it left.
-#}
{% macro _dealt_updates_select(collection, number) -%}
    {%- set step = trueup._step_numbers() -%}
    {%- set identity, columns = collection.identity, trueup._column_list(collection.identity) -%}
    {%- set updates = trueup._session_name(collection.name, 'dealt_updates') -%}
    {%- set persisted -%}
select {{ columns }}, max(_ts) as _ts, _value
from (select inline({{ updates }}))
group by {{ columns }}, _value
having sum(_diff) > 0
    {%- endset -%}
    {%- set commands -%}
select * from {{ trueup._session_name(collection.name, 'dealt_commands') }} where _step_batch = {{ number }}
    {%- endset -%}
    {%- set values = trueup._value_names(collection.columns, collection.unique_key) -%}
    {%- set steps = trueup._resolved_steps_select(collection, trueup._steps_select(
        collection, trueup._subquery(commands), trueup._subquery(persisted) if number > 1 else none, values,
        has_truncates=true
    ), values) -%}
with

steps as (

{{ trueup._digested_steps_select(steps, collection.unique_key, collection.columns) }}

),

{{ trueup._folded_ticks_ctes(identity, trueup._sequence_terms(collection.options)) }},

steps_taken as (

    select * from folded where _step > {{ step.prior }}

),

{{ trueup._updates_ctes(identity) }}

select concat(
    coalesce({{ updates }}, array()),
    collect_list(struct({{ columns }}, _ts, _diff, _value))
)
from updates
{%- endmacro %}
