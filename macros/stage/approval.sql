{#-
    Whether the var `trueup_approve` names the staged batch, and this batch can still be appended. If the changelog has
    got columns since then, the batch must be staged again.
-#}
{% macro _get_is_still_approved(collection, batch_id) -%}
    {{ return(
        trueup._get_is_approved(collection.batch, batch_id)
        and trueup._get_user_columns(collection.batch) == trueup._get_user_columns(collection.changelog)
    ) }}
{%- endmacro %}


{#- Whether the var `trueup_approve` names the plan of a staged batch, or the batch itself. -#}
{% macro _get_is_approved(batch, batch_id) -%}
    {%- set approved = trueup._var('trueup_approve') -%}
    {{ return(
        approved is not none
        and (approved == batch_id or approved == trueup._get_plan_name(batch, batch_id))
    ) }}
{%- endmacro %}


{#-
    A name for the effect of a staged batch. It is a digest of the batch number and of its
    certificate, which sums up the collection after the batch. The number fixes the rows before the
    batch, so the name stands for the net change. It does not depend on the run that stages the
    batch, or on the tick. None if the batch is no longer staged.
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
