{#-
    The steps with what they carry from key to key, as a select. Where they may carry anything they are
    read many times in one statement: they are written to a table, which `drop_kept_steps` drops again.
-#}
{% macro carry_values(collection, steps, shard, values, options) -%}
    {%- if not trueup._carries_values(shard.extras) -%}
        {{ return(steps) }}
    {%- endif -%}
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
        {%- do run_query('drop table if exists ' ~ trueup._kept_steps()) -%}
    {%- endif -%}
{%- endmacro %}


{#- The table of steps that a run keeps while it makes this model. -#}
{% macro _kept_steps() -%}
    {{ return(api.Relation.create(schema=this.schema, identifier=this.identifier ~ '__steps')) }}
{%- endmacro %}
