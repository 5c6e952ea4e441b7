{#-
    The keys of one round of `trueup prove`. The seed alone says which keys are drawn. If a command can take values
    from another key, the sample also has the keys from which its keys take values, and those from which these do.
-#}

{#- Draws the sample and adds the keys from which it takes values. A variable of the session has the result. -#}
{% macro _ensure_dealt_sample(collection, draw, upper) -%}
    {%- set sample = trueup._session_name(collection.name, 'dealt_sample') -%}
    {%- set sources = trueup._session_name(collection.name, 'dealt_sources') -%}
    {%- do run_query('drop view if exists ' ~ sources) -%}
    {%- do run_query(
        'cache table ' ~ sources ~ ' as\n' ~ trueup._drawn_keys_and_sources_select(collection, draw, upper)
    ) -%}
    {%- do trueup._ensure_session_variable(
        sample, 'array<struct<' ~ (trueup._identity_fields(collection) | join(', ')) ~ '>>'
    ) -%}
    {%- do run_query(
        'set var ' ~ sample ~ ' = (select collect_list(_key) from ' ~ sources ~ ' where _source is null)'
    ) -%}
    {#- A round adds the sources of the keys that the round before has added. A loop of keys ends, too. -#}
    {%- set found = namespace(count=0, is_all=false) -%}
    {%- for _ in range(trueup._most_keys_of_sample()) -%}
        {%- if not found.is_all -%}
            {%- do run_query(
                'set var ' ~ sample ~ ' = ' ~ trueup._subquery(trueup._sample_with_sources_select(sample, sources))
            ) -%}
            {%- set count = run_query('select size(' ~ sample ~ ')').rows[0][0] -%}
            {%- do trueup._require_small_sample(collection, draw, count) -%}
            {%- set found.is_all = count == found.count -%}
            {%- set found.count = count -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- The most keys of a sample: Spark has it as one value, and each round reads all of it. -#}
{% macro _most_keys_of_sample() -%}
    {{ return(10000) }}
{%- endmacro %}


{#- Raises if the sample, with the keys from which it takes values, has too many keys. -#}
{% macro _require_small_sample(collection, draw, count) -%}
    {%- if count > trueup._most_keys_of_sample() -%}
        {%- do trueup._raise_error(
            'The sample of `trueup prove`, with the keys from which its ' ~ draw['keys'] ~ ' keys take values,',
            'at most ' ~ trueup._most_keys_of_sample() ~ ' keys of ' ~ collection.name, count ~ ' keys or more',
            'Take fewer keys: `--keys`.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The settled commands of the log, as a select. -#}
{% macro _settled_log_select(collection, upper) -%}
-- The random number, which nobody reads, keeps Spark from reading the log twice.
select *, rand() as _step_token
from {{ trueup._subquery(trueup._explained_input_select(collection)) }}
where
    _ts >= {{ trueup._first_tick_expr(collection.options) }}
    and _ts < {{ trueup._number_or_null(upper) }}
{%- endmacro %}


{#- The keys that are drawn from the CTE `log`, as a select. -#}
{% macro _drawn_keys_select(collection, draw) -%}
    {%- set identity = trueup._column_list(collection.identity) -%}
select distinct {{ identity }} from log where not _is_truncate
order by xxhash64({{ draw.seed }}, {{ identity }}), {{ identity }}
limit {{ draw['keys'] }}
{%- endmacro %}


{#-
    The drawn keys, and each key that takes values from another key, `_source`, as a select. A drawn key has no
    source. Keys are structs of the identity.
-#}
{% macro _drawn_keys_and_sources_select(collection, draw, upper) -%}
    {%- set key = 'struct(' ~ trueup._column_list(collection.identity) ~ ')' -%}
with

log as (

{{ trueup._settled_log_select(collection, upper) }}

),

drawn as (

{{ trueup._drawn_keys_select(collection, draw) }}

)

select {{ key }} as _key, null as _source from drawn
union all
select distinct {{ key }} as _key, {{ trueup._old_identity_expr(collection) }} as _source
from log
where _old_key is not null
{%- endmacro %}


{#- The identity of the old key of a command, as a struct; null if the command takes no values from another key. -#}
{% macro _old_identity_expr(collection) -%}
    {%- set columns = [] -%}
    {%- for name in collection.unique_key -%}
        {%- do columns.append('_old_key.' ~ trueup._quoted(name)) -%}
    {%- endfor -%}
case when _old_key is not null then struct({{ columns | join(', ') }}, cast(null as string) as _error_key) end
{%- endmacro %}


{#- The sample with the keys from which it takes values, as a select of one array. -#}
{% macro _sample_with_sources_select(sample, sources) -%}
select collect_list(_key)
from (
    select explode({{ sample }}) as _key
    union
    select _source from {{ sources }} where _source is not null and array_contains({{ sample }}, _key)
)
{%- endmacro %}
