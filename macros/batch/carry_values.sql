{#-
    The steps with what they carry from key to key, as a select. Where they may carry anything they are
    read many times in one statement: they are written to a table, which `drop_kept_steps` drops again.
-#}
{% macro carry_values(collection, steps, shard, values, options) -%}
    {%- if not trueup._carries_values(shard.extras) -%}
        {{ return(steps) }}
    {%- endif -%}
    {%- do trueup.drop_left_steps() -%}
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


{#- Whether values that are left unchanged may come from another key. -#}
{% macro _carries_values(extras) -%}
    {{ return('_old_key' in extras and '_unchanged' in extras) }}
{%- endmacro %}


{#- Drops the table that `carry_values` has written, if it did. -#}
{% macro drop_kept_steps(extras) -%}
    {%- if trueup._carries_values(extras) -%}
        {%- do run_query(trueup._drop_steps_sql(trueup._kept_steps())) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Drops the tables of steps that runs which failed or were killed have left, a day after they began:
    no statement takes so long.
-#}
{% macro drop_left_steps() -%}
    {%- set kept = this.identifier ~ '__kept_' -%}
    {%- set form = modules.re.escape(kept | lower) ~ '(\\d{14})_[0-9a-f]{8}' -%}
    {%- set yesterday = run_started_at - modules.datetime.timedelta(days=1) -%}
    {%- set found = run_query(
        'show tables in ' ~ this.without_identifier() ~ ' like ' ~ trueup._literal(kept ~ '*')
    ) -%}
    {%- for row in found.rows -%}
        {%- set name = modules.re.fullmatch(form, row[1] | lower) -%}
        {%- if name and name.group(1) < yesterday.strftime('%Y%m%d%H%M%S') -%}
            {%- do run_query(trueup._drop_steps_sql(
                api.Relation.create(schema=this.schema, identifier=row[1])
            )) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    The table of steps that a run keeps while it makes this model. Each run has its own: what another
    one keeps at the same moment may be of other ticks.
-#}
{% macro _kept_steps() -%}
    {{ return(api.Relation.create(
        schema=this.schema,
        identifier=this.identifier ~ '__kept_' ~ run_started_at.strftime('%Y%m%d%H%M%S') ~ '_'
            ~ invocation_id[:8]
    )) }}
{%- endmacro %}


{#- The statement that drops such a table; without `purge` Iceberg would keep its files. -#}
{% macro _drop_steps_sql(relation) -%}
    {{ return(
        'drop table if exists ' ~ relation
        ~ (' purge' if trueup._file_format() == 'iceberg' else '')
    ) }}
{%- endmacro %}


{#-
    For each change of key that leaves values unchanged, what its old key had just before, as a
    select: `_id` of the step, its `_value` and `_missing`, and `_base` with those of the old key.

    `steps` are the steps that `select_steps` makes, filled within each key.
-#}
{% macro select_bases(steps, identity, sequence) -%}
with

carriers as (

    select distinct
        {{ trueup._step_id_expr(identity) }} as _id,
        _ts,
        _order,
        _old_key,
        _value,
        _missing
    from {{ steps }}
    where _carrier <=> {{ trueup._step_id_expr(identity) }}

)

select
    carriers._id,
    carriers._value,
    carriers._missing,
    max_by(
        struct(steps._value, steps._missing, steps._carrier),
        struct({{ trueup._column_list(['_step', '_ts'] + sequence[:-1], alias='steps') }})
    ) as _base
from carriers
left join {{ steps }} as steps
    on steps._error_key is null
    {% for name in identity[:-1] -%}
    and steps.{{ trueup._quote(name) }} <=> carriers._old_key.{{ trueup._quote(name) }}
    {% endfor -%}
    and (
        steps._step < 2
        or struct(steps._ts, steps._order) < struct(carriers._ts, carriers._order)
        -- A truncate of the same order is older; the delete that it makes has no content.
        or steps._hash is null and steps._ts = carriers._ts and steps._order = carriers._order
    )
group by all
{%- endmacro %}


{#-
    What each change of key comes to, as a select of `_id` and `_value`. The old key may itself have
    got its values by a change of key in this batch, and so on: hence the recursion, which takes one
    round for each link of the longest chain.
-#}
{% macro resolve_bases(bases, values) -%}
with recursive chain as (

    select _id, {{ trueup._merged_expr(values, '_value', '_missing', '_base._value') }} as _value
    from {{ bases }}
    where _base._carrier is null

    union all

    select
        bases._id,
        {{ trueup._merged_expr(
            values, 'bases._value', 'bases._missing',
            trueup._merged_expr(values, '_base._value', '_base._missing', 'chain._value')
        ) }} as _value
    from {{ bases }} as bases
    inner join chain on bases._base._carrier <=> chain._id

)

select * from chain
{%- endmacro %}


{#- The steps with the values that a change of key has left unchanged, as a select. -#}
{% macro select_carried(steps, resolved, values) -%}
select
    steps.* except (_value, _carrier, _missing, _old_key),
    case
        when steps._carrier is null then steps._value
        else {{ trueup._merged_expr(values, 'steps._value', 'steps._missing', 'resolved._value') }}
    end as _value
from {{ steps }} as steps
left join {{ resolved }} as resolved on steps._carrier <=> resolved._id
{%- endmacro %}


{#-
    A value whose missing columns are those of a base; an error where the base is one. The lambda
    keeps the base, which may be such an expression itself, from being written once per column.
-#}
{% macro _merged_expr(values, value, missing, base) -%}
transform(array({{ base }}), _base_value -> case
            when {{ value }} is null then null
            when _base_value._error is not null then _base_value
            else named_struct(
                {%- for name in values %}
                {{ trueup._literal(name) }}, case
                    when array_contains({{ missing }}, {{ trueup._literal(name) }})
                        then _base_value.{{ trueup._quote(name) }}
                    else {{ value }}.{{ trueup._quote(name) }}
                end,
                {%- endfor %}
                '_error', {{ value }}._error
            )
        end)[0]
{%- endmacro %}
