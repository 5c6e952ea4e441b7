{#- The statement that removes one staged batch; a batch that another run has staged since stays. -#}
{% macro _unstage_sql(batch, batch_id) -%}
{{ trueup._step_marker('discard') }}
delete from {{ batch }} where _batch_id = {{ trueup._literal(batch_id) }}
{%- endmacro %}


{#- How many updates the staged batch has. -#}
{% macro _get_staged_count(batch) -%}
    {{ return(run_query('select count(*) from ' ~ batch ~ " where _kind = 'update'").rows[0][0]) }}
{%- endmacro %}
