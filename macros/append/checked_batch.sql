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

batch_rows as (

    select *
    from {{ trueup._subquery(batch) }} as batch
    where _batch_id = {{ trueup._literal(staged.batch_id) }}

),

-- Only the progress row has statistics and a certificate: about fifty nested columns. All rows are read without them.
plain_rows as (

    select * except (_statistics, _certificate) from batch_rows

),

{{ trueup._batch_check_ctes(staged, changelog, unique_key, columns) }}

select
    plain_rows.*,
    case when plain_rows._kind = 'progress' then checked._statistics end as _statistics,
    case when plain_rows._kind = 'progress' then checked._certificate end as _certificate,
    -- One number for about 30,000 rows: a task for fewer rows would only write a small file.
    case
        when plain_rows._kind = 'progress' then plain_rows._seq
        else -1 - pmod(xxhash64({{ trueup._column_list(
            unique_key + ['_error_key', '_ts'], alias='plain_rows'
        ) }}), 1 + checked._row_count div 30000)
    end as _match_seq
from plain_rows
cross join checked
where checked._is_sound
{%- endmacro %}


{#-
    CTEs that check the rows of a staged batch. `checked` is one row. Its `_is_sound` is false if the batch is gone, or
    does not continue the changelog. It raises if somebody has edited the batch, or if the last batch of the changelog
    is not the one that this batch was planned after.

    Reads: `batch_rows`, `plain_rows`, the changelog. Ends with: `checked`.
-#}
{% macro _batch_check_ctes(staged, changelog, unique_key, columns) -%}
    {#- An approved batch is not staged again. -#}
    {%- set again = 'run again without the var `trueup_approve`' if trueup._var('trueup_approve') else 'run again' -%}
digested as (

    -- A struct of the user may be called `plain_rows`, too. With the alias Spark does not take it for the table.
    select
        *,
        {{ trueup._digest_expr(unique_key, columns, alias='plain_rows') }} as _digest
    from plain_rows

),

-- One aggregate for both tables: two would be two more jobs. It returns a row even if the changelog has no batch yet.
-- It is joined: Delta cannot read the target of a MERGE in a subquery above another one.
checked_rows as (

    select
        true as _is_staged,
        {{ trueup._is_update_of_its_kind_expr() }}
            and _seq = {{ staged.seq }}
            and _lower <=> {{ trueup._number_or_null(staged.lower) }}
            and _upper <=> {{ trueup._number_or_null(staged.upper) }} as _is_update,
        case when {{ trueup._is_content_expr() }} then {{ trueup._update_mark_expr() }} end as _mark,
        null as _progress,
        cast(null as bigint) as _last_seq,
        cast(null as bigint) as _last_seal
    from digested
    union all
    select
        false as _is_staged,
        false as _is_update,
        null as _mark,
        struct(_seq, _lower, _upper, _batch_id, _statistics, _certificate) as _progress,
        null as _last_seq,
        null as _last_seal
    from batch_rows
    where _kind = 'progress'
    union all
    select
        false as _is_staged,
        false as _is_update,
        null as _mark,
        null as _progress,
        _seq as _last_seq,
        case when _seq = {{ staged.seq - 1 }} then _statistics.seal.own end as _last_seal
    from {{ changelog }}
    where _kind = 'progress' and _seq >= {{ staged.seq - 1 }}

),

found as (

    select
        count_if(_is_update) as _update_count,
        count_if(_is_staged) as _row_count,
        coalesce(bit_xor(_mark), 0) as _updates_mark,
        count(_progress) as _progress_count,
        first(_progress, true) as _progress,
        coalesce(max(_last_seq), 0) as _last_seq,
        max(_last_seal) as _last_seal
    from checked_rows

),

progress as (

    select * except (_progress), _progress.* from found

),

-- This is one `case`: two of its branches raise, and Spark may test several conditions in any order.
checked as (

    select
        _row_count,
        _statistics,
        _certificate,
        case
            when _last_seq <> {{ staged.seq - 1 }} or _progress_count = 0 then false
            when not _last_seal <=> _statistics.seal.previous
                then raise_error(
                    'batch moved: batch {{ staged.seq - 1 }} of the changelog is not the one that batch'
                    ' {{ staged.seq }} continues: a rebase has begun again, or somebody has edited it;'
                    ' nothing is appended, {{ again }}'
                )
            when
                _progress_count = 1
                and _update_count = {{ trueup._rows_of_batch_count_expr() }}
                and _row_count = _update_count + 1
                and _updates_mark = _statistics.seal.updates
                and {{ trueup._certificate_hash_expr() }} = _statistics.seal.certificate
                and {{ trueup._is_own_seal_expr() }}
                then true
            else raise_error(
                'damaged batch: the staged batch {{ staged.seq }} was edited after it was staged;'
                ' nothing is appended, {{ again }}'
            )
        end as _is_sound
    from progress

)
{%- endmacro %}
