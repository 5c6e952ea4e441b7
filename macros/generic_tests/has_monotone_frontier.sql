{#-
    Fails on each batch that moves the frontier of a changelog back or breaks its sequence:

    - `backwards`: the batch ends before it begins
    - `not_next`: the batch does not follow the batch before
    - `in_the_past`: the batch has an update below its own lower
    - `not_as_applied`: with the state of the collection, the batch had another upper when it was applied
    - `lost`: with the state, it has applied batches that the changelog does not have, or it does not say which
      (`_seq` and `_upper` are those of the state)
-#}
{% test has_monotone_frontier(model, state=none) %}
    {%- do trueup._require_whole_table('has_monotone_frontier') -%}
with

batches as (

    select
        _seq,
        _lower,
        _upper,
        lag(_seq, 1, 0L) over (order by _seq, _lower, _upper) as _previous_seq,
        lag(_upper) over (order by _seq, _lower, _upper) as _previous_upper
    from {{ model }}
    where _kind = 'progress'

),

settled as (

    select
        _seq,
        _lower,
        _upper,
        min(_ts) as _first_ts
    from {{ model }}
    where _kind = 'update' and _ts < _lower
    group by _seq, _lower, _upper

),

final as (

    select
        'backwards' as _finding,
        _seq,
        _lower,
        _upper,
        _previous_upper,
        cast(null as bigint) as _first_ts
    from batches
    where not coalesce(_lower <= _upper, false)
    union all
    select
        'not_next' as _finding,
        _seq,
        _lower,
        _upper,
        _previous_upper,
        null as _first_ts
    from batches
    where
        not (_seq <=> _previous_seq + 1)
        or _previous_seq > 0 and not (_lower <=> _previous_upper)
    union all
    select
        'in_the_past' as _finding,
        _seq,
        _lower,
        _upper,
        null as _previous_upper,
        _first_ts
    from settled
    {%- if state %}
    union all
    select
        'not_as_applied' as _finding,
        batches._seq,
        batches._lower,
        batches._upper,
        applied._upper as _previous_upper,
        null as _first_ts
    from batches
    inner join {{ state }} as applied on applied._kind = 'progress' and batches._seq = applied._seq
    where not (batches._upper <=> applied._upper)
    union all
    select
        'lost' as _finding,
        applied._seq,
        null as _lower,
        applied._upper,
        last._upper as _previous_upper,
        null as _first_ts
    from (
        select max(_seq) as _seq, max(_upper) as _upper, count(*) as row_count
        from {{ state }}
        where _kind = 'progress'
    ) as applied
    cross join (select coalesce(max(_seq), 0L) as _seq, max(_upper) as _upper from batches) as last
    where applied.row_count <> 1 or not coalesce(applied._seq <= last._seq, false)
    {%- endif %}

)

select * from final
{% endtest %}
