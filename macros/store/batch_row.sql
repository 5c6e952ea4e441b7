{#- What stands on a batch row, and how it is read. -#}

{#- One 32-bit half of a bigint as a number, 0 for null, as an SQL expression. With `when` it is 0 elsewhere, too. -#}
{% macro _half_expr(value, half, when=none) -%}
    {%- set number = '(' ~ value ~ ' & 4294967295L)' if half == 'low' else 'shiftright(' ~ value ~ ', 32)' -%}
    {{ return('if(' ~ when ~ ', ' ~ number ~ ', 0L)' if when else 'coalesce(' ~ number ~ ', 0L)') }}
{%- endmacro %}


{#- The parts of a batch row that the next one needs, as a type for `from_json`. -#}
{% macro _batch_type() -%}
    {{ return(
        'struct<order_errors: bigint, history: struct<n: bigint, low: bigint, high: bigint, mix: bigint>, certificate: '
        ~ trueup._store_certificate_type() ~ '>'
    ) }}
{%- endmacro %}


{#- The type of a certificate. -#}
{% macro _store_certificate_type() -%}
    {{ return(
        'array<struct<bucket: int, n: bigint, length: bigint, low: bigint, high: bigint, mix: bigint, orders: bigint,'
        ~ ' order_low: bigint, order_high: bigint, order_mix: bigint>>'
    ) }}
{%- endmacro %}


{#- The text of a batch row of a store that this run has looked at, as `_batch`. It raises if the store has moved since then. -#}
{% macro _unmoved_batch_select(collection, relation, seq, base) -%}
select coalesce(
    max(_batch),
    raise_error('upper mismatch: {{ collection.store }} is no longer at batch {{ seq }} as this run has seen it')
) as _batch
from {{ relation }}
where _kind = 'batch' and _seq = {{ seq }} and {{ trueup._is_unmoved_expr(collection, base) }}
{%- endmacro %}


{#-
    A condition: whether the store is still at the snapshot that this run has looked at. Without it, a commit could build
    on rows that somebody else has edited since then. Delta cannot be asked in a query.
-#}
{% macro _is_unmoved_expr(collection, base) -%}
    {%- if not base or '@' in base -%}
        {{ return('true') }}
    {%- endif -%}
    {{ return('(select snapshot_id from ' ~ collection.store ~ ".refs where name = 'main') = " ~ base) }}
{%- endmacro %}


{#-
    The newest batch of a store, as a dict: `seq`, `ts` and the notes of its batch row; `base` is the snapshot that it was
    computed on. Without a store it is batch 0. With `up_to` batches after that one do not count.
    With `has_commits`, `commits` are the commits to the store since then; only Iceberg can be asked for them in the same query.
-#}
{% macro _get_newest_batch(collection, up_to=none, has_commits=false) -%}
    {%- if not collection.has_store -%}
        {{ return({'seq': 0, 'ts': 0}) }}
    {%- endif -%}
    {%- set found = run_query(trueup._step_marker('look') ~ trueup._newest_batch_select(collection.store, up_to, has_commits)).rows -%}
    {%- if not found -%}
        {%- do trueup._raise_error(
            'The store ' ~ collection.store, 'a table with at least batch row 0', 'a table without a batch row',
            'Somebody has removed them. Restore the table from a snapshot or a backup.'
        ) -%}
    {%- endif -%}
    {%- set newest = dict(fromjson(found[0]['notes']), seq=found[0]['seq'] | int, ts=found[0]['ts'] | int) -%}
    {{ return(dict(newest, commits=fromjson(found[0]['commits'])) if has_commits else newest) }}
{%- endmacro %}


{#- The select behind `_get_newest_batch`: the certificate is left out, because it is long. -#}
{% macro _newest_batch_select(store, up_to=none, has_commits=false) -%}
    {%- set newest -%}
select _seq as seq, _ts as ts, regexp_replace(_batch, '"certificate":.*$', '"certificate":[]}') as notes
from {{ store }}
where _kind = 'batch'{{ ' and _seq <= ' ~ up_to if up_to is not none }}
order by _seq desc
limit 1
    {%- endset -%}
    {%- if not has_commits -%}
        {{ return(newest) }}
    {%- endif -%}
with newest as (

    {{ newest | indent(4) }}

)

select
    newest.*,
    (
        select to_json(collect_list(struct(
            cast(snapshot_id as string) as id, cast(parent_id as string) as parent, operation
        )))
        from {{ store }}.snapshots
        where committed_at >= (
            select timestamp_seconds(coalesce(cast(get_json_object(notes, '$.at') as bigint), 600) - 600) from newest
        )
    ) as commits
from newest
{%- endmacro %}


{#- The order that a text of `_exact_json_expr` holds, as an SQL expression; null for none. -#}
{% macro _order_from_json_expr(collection, text) -%}
    {{ return(trueup._parsed_order_expr(collection, trueup._literal_or_null(text))) }}
{%- endmacro %}


{#- The same of an SQL expression that gives such a text. -#}
{% macro _parsed_order_expr(collection, text) -%}
    {{ return(trueup._parsed_expr(text, trueup._sql_type(collection.order_type))) }}
{%- endmacro %}


{#- A text of `_exact_json_expr` as a value of a type. -#}
{% macro _parsed_expr(text, type) -%}
    {{ return(
        'from_json(' ~ text ~ ', ' ~ trueup._literal(type)
        ~ ", map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXXXX', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))"
    ) }}
{%- endmacro %}


{#- A value as an SQL literal; null for none. -#}
{% macro _literal_or_null(text) -%}
    {{ return('null' if text is none else trueup._literal(text)) }}
{%- endmacro %}
