{#- Whether the var `trueup_approve` names what a staged batch does, or the batch itself. -#}
{% macro _get_is_approved(batch, batch_id) -%}
    {%- set approved = trueup._var('trueup_approve') -%}
    {{ return(
        approved is not none
        and (approved == batch_id or approved == trueup._get_plan_name(batch, batch_id))
    ) }}
{%- endmacro %}


{#-
    A name for what a staged batch does: a digest of its number and its certificate, which is what the
    collection adds up to after it. What came before is fixed by the number, so the digest stands for
    the net change, whatever run stages it, at whatever tick. None where the batch is not staged any
    more.
-#}
{% macro _get_plan_name(batch, batch_id) -%}
    {%- set query -%}
select concat('plan-', left(sha2(concat(_seq, ' ', to_json(_certificate)), 256), 16))
from {{ batch }}
where _kind = 'progress' and _batch_id = {{ trueup._literal(batch_id) }}
    {%- endset -%}
    {%- set rows = run_query(query).rows -%}
    {{ return(rows[0][0] if rows | length > 0 else none) }}
{%- endmacro %}
