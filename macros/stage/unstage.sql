{#-
    The statement that removes one staged batch. If another run has staged a batch since, that batch
    stays.
-#}
{% macro _unstage_sql(batch, batch_id) -%}
{{ trueup._step_marker('discard') }}
delete from {{ batch }} where _batch_id = {{ trueup._literal(batch_id) }}
{%- endmacro %}


{#- The number of updates and order rows in the staged batch. -#}
{% macro _get_staged_count(batch) -%}
    {{ return(run_query('select count(*) from ' ~ batch ~ ' where ' ~ trueup._is_content_expr()).rows[0][0]) }}
{%- endmacro %}
