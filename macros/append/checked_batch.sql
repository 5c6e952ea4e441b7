{#-
    The staged batch as the append reads it, as a select. The staged batch is a table, so anybody may edit or replace
    it before the append. The select has no rows if the batch is gone, or does not continue the changelog. It raises
    unless the rows are exactly those that the seal of the batch describes, and the last batch of the changelog is the
    one that this batch was planned after.

    `staged` is what `_get_staged_batch` returns. `columns` are the key and value columns of the changelog.
    The check reads the rows in the same statement that appends them.
-#}
{% macro _checked_batch_select(batch, staged, changelog, unique_key, columns) -%}
with

own_batch as (

    select *
    from {{ trueup._subquery(batch) }}
    where _batch_id = {{ trueup._literal(staged.batch_id) }}

),

digested as (

    select *, {{ trueup._digest_expr(unique_key, columns) }} as _digest from own_batch

),

-- One aggregate for both tables: two would be two more jobs. It returns a row even if the changelog has no batch yet.
-- It is joined: Delta cannot read the target of a MERGE in a subquery above another one.
checked_rows as (

    select
        true as _is_staged,
        _kind = 'progress' as _is_progress,
        {{ trueup._is_content_expr() }}
            and _seq = {{ staged.seq }}
            and _lower <=> {{ trueup._number_or_null(staged.lower) }}
            and _upper <=> {{ trueup._number_or_null(staged.upper) }} as _is_update,
        case when {{ trueup._is_content_expr() }} then {{ trueup._update_mark_expr() }} end as _mark,
        cast(null as bigint) as _last_seq,
        cast(null as bigint) as _last_seal
    from digested
    union all
    select
        false as _is_staged,
        false as _is_progress,
        false as _is_update,
        null as _mark,
        _seq as _last_seq,
        case when _seq = {{ staged.seq - 1 }} then _statistics.seal.own end as _last_seal
    from {{ changelog }}
    where _kind = 'progress' and _seq >= {{ staged.seq - 1 }}

),

found as (

    select
        count_if(_is_progress) as progress_count,
        count_if(_is_update) as update_count,
        count_if(_is_staged) as row_count,
        coalesce(bit_xor(_mark), 0) as updates_mark,
        coalesce(max(_last_seq), 0) as last_seq,
        max(_last_seal) as last_seal
    from checked_rows

)

select
    own_batch.* except (_kind),
    -- This is a column and not a condition: Spark would move a condition that raises below the join.
    case
        when
            own_batch._kind = 'progress'
            and not found.last_seal <=> own_batch._statistics.seal.previous
            then raise_error(
                'batch moved: batch {{ staged.seq - 1 }} of the changelog is not the one that batch'
                ' {{ staged.seq }} continues: a rebase has begun again, or somebody has edited it;'
                ' nothing is appended, run again'
            )
        when
            {{ trueup._is_content_expr('own_batch') }}
            or own_batch._kind = 'progress'
            and found.progress_count = 1
            and found.update_count
            = own_batch._statistics.updates_staged + coalesce(own_batch._statistics.orders_staged, 0)
            and found.row_count = found.update_count + 1
            and found.updates_mark = own_batch._statistics.seal.updates
            and {{ trueup._certificate_hash_expr() }} = own_batch._statistics.seal.certificate
            and {{ trueup._is_own_seal_expr() }}
            then own_batch._kind
        else raise_error(
            'damaged batch: the staged batch {{ staged.seq }} was edited after it was staged;'
            ' nothing is appended, run again'
        )
    end as _kind,
    -- One number for about 100,000 rows: a task for fewer rows would only write a small file.
    case
        when own_batch._kind = 'progress' then own_batch._seq
        else -1 - pmod(xxhash64({{ trueup._column_list(
            unique_key + ['_error_key', '_ts'], alias='own_batch'
        ) }}), 1 + found.row_count div 100000)
    end as _match_seq
from own_batch
cross join found
where found.last_seq = {{ staged.seq - 1 }} and found.progress_count > 0
{%- endmacro %}
