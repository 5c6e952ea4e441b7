{#-
    A log of full extracts with its deletes: a select in parentheses, to be the `relation` of
    `trueup.commands`. See the YAML beside this file.
-#}
{% macro snapshot_commands(relation, unique_key, ts) -%}
    {%- if relation is none or not (relation | string).strip() -%}
        {%- do trueup._refuse(
            trueup._argument('snapshot_commands', 'relation'), 'a relation', relation
        ) -%}
    {%- endif -%}
    {%- do trueup._require_list(
        trueup._argument('snapshot_commands', 'unique_key'), unique_key
    ) -%}
    {%- do trueup._require_expression('snapshot_commands', 'ts', ts) -%}
(
with extracted as (

    select *, {{ ts }} as extract_ts from {{ relation }}

),

extracts as (

    select extract_ts as this_ts, lead(extract_ts) over (order by extract_ts) as next_ts
    from (select distinct extract_ts from extracted)

),

present as (

    select distinct
        {%- for name in unique_key %}
        {{ trueup._quote(name) }} as _key_{{ loop.index }},
        {%- endfor %}
        extract_ts as present_ts
    from extracted

),

-- Rule: a key that the next extract does not have was deleted by then.
steps as (

    select
        extracted.*,
        explode(
            case
                when next_ts is null or present_ts is not null
                    then array(struct(extract_ts as snapshot_ts, false as is_absent))
                else array(
                    struct(extract_ts as snapshot_ts, false as is_absent),
                    struct(next_ts as snapshot_ts, true as is_absent)
                )
            end
        ) as step
    from extracted
    inner join extracts on extract_ts = this_ts
    left join present on present_ts = next_ts
        {%- for name in unique_key %}
        and extracted.{{ trueup._quote(name) }} <=> present._key_{{ loop.index }}
        {%- endfor %}

)

select * except (extract_ts, step), step.* from steps
)
{%- endmacro %}
