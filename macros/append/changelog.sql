{#-
    The staged batch as it is appended to the changelog: the rows of the batch, with the time of the append
    on its progress row. See the YAML beside this file.
-#}
{% macro changelog(collection) -%}
    {%- if collection is not string -%}
        {{- config(materialized='view') -}}
        {{ return(trueup._changelog_of_store(collection)) }}
    {%- endif -%}
    {{- config(materialized='trueup_changelog') -}}
    {%- do trueup._require_role('changelog', collection) -%}
select
    * except (_statistics),
    case when _kind = 'progress' then struct(
        _statistics.* except (committed_at, seal),
        current_timestamp() as committed_at,
        struct(
            _statistics.seal.* except (committed),
            {{ trueup._committed_seal_expr(
                '_statistics.seal.own', '_statistics.since', 'current_timestamp()'
            ) }} as committed
        ) as seal
    ) end as _statistics
from {{ trueup._ref(collection, 'batch') }}
{%- endmacro %}
