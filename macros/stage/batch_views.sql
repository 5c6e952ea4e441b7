{#-
    The session views that the staged batch reads. `steps` has all steps of its keys. `provisional`
    is for eager collections. `takes_corrections` says whether the batch includes corrections.
-#}
{% macro _ensure_batch_views(collection, plan, takes_corrections) -%}
    {%- do trueup._require_single_read() -%}
    {%- do trueup._require_exact_merge() -%}
    {%- set columns = trueup._ensure_followed_columns(collection) -%}
    {%- set steps = trueup._ensure_batch_steps(collection, plan, columns, takes_corrections) -%}
    {%- set steps = trueup._digested_steps_select(steps, collection.unique_key, columns) -%}
    {%- if trueup._is_folded_by_udaf(collection.options) -%}
        {%- set steps = trueup._encoded_steps_select(steps, collection.unique_key, columns) -%}
    {%- endif -%}
    {%- do trueup._ensure_session_view(trueup._session_name(collection.name, 'steps'), steps) -%}
    {%- if collection.options.eager -%}
        {%- do trueup._ensure_session_view(
            trueup._session_name(collection.name, 'provisional'),
            trueup._provisional_select(
                collection, columns, trueup._session_name(collection.name, 'plan') ~ '.lower'
            )
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- A select of the steps with the digest of each value. `steps` is a select. -#}
{% macro _digested_steps_select(steps, unique_key, columns) -%}
select
    *,
    case
        when _value is not null
            then {{ trueup._digest_expr(unique_key, columns, in_value=true) }}
    end as _digest
from {{ trueup._subquery(steps) }}
{%- endmacro %}
