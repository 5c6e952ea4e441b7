{#-
    A log of full extracts with its deletes. It is a select in parentheses, for the argument
    `relation` of `trueup.commands`. See the YAML beside this file.
-#}
{% macro snapshot_commands(relation, unique_key, ts, extracts=none) -%}
    {%- do trueup._require_relation('snapshot_commands', relation) -%}
    {%- do trueup._require_list(trueup._argument('snapshot_commands', 'unique_key'), unique_key) -%}
    {%- do trueup._require_expression('snapshot_commands', 'ts', ts) -%}
    {%- if extracts is not none -%}
        {%- do trueup._require_relation('snapshot_commands', extracts, 'extracts') -%}
    {%- endif -%}
(
with extracted as (
    select *, {{ ts }} as _ts_extracted from {{ relation }}
),
extracts as (
    select _ts_extracted, lead(_ts_extracted) over (order by _ts_extracted) as _ts_next
    from (
        select _ts_extracted from extracted where _ts_extracted is not null
        union
        select {{ ts ~ ' from ' ~ extracts if extracts is not none else 'null where false' }}
    )
),
present as (
    select distinct
        {%- for name in unique_key %}
        {{ trueup._quoted(name) }} as _key_{{ loop.index }},
        {%- endfor %}
        _ts_extracted
    from extracted
),
-- Rule: a key that is missing in the next extract was deleted. A row without a tick stays a command without one,
-- which a run refuses.
steps as (
    select
        extracted.*,
        explode(
            case
                when extracts._ts_next is null or present._ts_extracted is not null
                    then array(struct(extracted._ts_extracted as snapshot_ts, false as is_absent))
                else array(
                    struct(extracted._ts_extracted as snapshot_ts, false as is_absent),
                    struct(extracts._ts_next as snapshot_ts, true as is_absent)
                )
            end
        ) as _step
    from extracted
    left join extracts on extracted._ts_extracted = extracts._ts_extracted
    left join present on present._ts_extracted = extracts._ts_next
        {%- for name in unique_key %}
        and extracted.{{ trueup._quoted(name) }} <=> present._key_{{ loop.index }}
        {%- endfor %}
)
select * except (_ts_extracted, _step), _step.* from steps
)
{%- endmacro %}
