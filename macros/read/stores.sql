{#-
    What people read besides the rows: the changelog, the errors and the past of a collection. Each is a select over the
    store, which is found by the relation of the collection, so it follows aliases, schemas and `--defer`.
-#}

{#- The store of a collection, by the relation of its view. -#}
{% macro _store_of(relation) -%}
    {{ return(relation.incorporate(path={'identifier': relation.identifier ~ '__trueup'}, type='table')) }}
{%- endmacro %}


{#- The store of a collection in a model that reads it. While dbt parses, the collection may have no name yet. -#}
{% macro _store_read_by_model(relation) -%}
    {{ return(trueup._store_of(relation) if execute else relation) }}
{%- endmacro %}


{#- The columns of the store that are neither keys nor values. -#}
{% macro _store_column_names() -%}
    {{ return([
        '_kind', '_seq', '_ts', '_diff', '_cause', '_error_kind', '_error_key', '_error', '_order', '_digest', '_length',
        '_delete_order', '_orders', '_batch'
    ]) }}
{%- endmacro %}


{#- The updates of a collection, one row each: its key and value columns, and what happened when and why. -#}
{% macro _changelog_select(collection) -%}
select
    {{ trueup._all_but_list(trueup._store_column_names()) }},
    _error,
    _error_key,
    _ts,
    _diff,
    _cause,
    _seq
from {{ trueup._store_read_by_model(collection) }}
where _kind = 'update'
{%- endmacro %}


{#- The keys of a collection that are broken now, one row each, with the kind of error and since when. -#}
{% macro _errors_select(collection) -%}
select
    {{ trueup._all_but_list(trueup._store_column_names()) }},
    _error_key,
    _error,
    if(_error_kind = 'origin', 'order', _error_kind) as _error_kind,
    _ts
from {{ trueup._store_read_by_model(collection) }}
where _kind = 'error'
{%- endmacro %}


{#-
    The rows of a collection as they were at the end of the tick `to_ts`; with `from_ts` the changes after that tick, with
    their `_diff`. Raises if the tick is after the newest batch, whose rows nobody knows yet.
-#}
{% macro _rows_between_select(collection, to_ts, from_ts=none) -%}
    {%- set store = trueup._store_read_by_model(collection) -%}
with

consolidated as (

    select {{ trueup._all_but_list(trueup._store_column_names()) }}, sum(_diff) as _diff
    from {{ store }}
    where
        _kind = 'update'
        and _error_kind is null
        and _ts <= {{ to_ts }}
        {%- if from_ts is not none %}
        and _ts > {{ from_ts }}
        {%- endif %}
        and case
            when (select max(_ts) from {{ store }} where _kind = 'batch') >= {{ to_ts }} then true
            else raise_error(concat(
                'A tick of {{ collection }} must be one that has been read: at most ',
                (select max(_ts) from {{ store }} where _kind = 'batch'), '\nGot: ', {{ to_ts }}
            ))
        end
    group by all

)

select {{ '* except (_diff)' if from_ts is none else '*' }}
from consolidated
where _diff {{ '> 0' if from_ts is none else '<> 0' }}
{%- endmacro %}
