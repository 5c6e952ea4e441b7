{#-
    The keys that an apply touches, as a Bloom filter of one hash. Most of the work of a MERGE into a large
    table is to shuffle and sort its rows. The filter removes other rows of the state before that. Few of
    them pass, and these match nothing.

    The filter is a literal in the MERGE, because Spark allows neither subqueries nor variables in the
    condition. A literal of bytes is not part of the code that Spark compiles for the condition.
-#}

{#-
    The filter of the updates after the variable `applied`, and of the progress row, as a dict: `bits`, a
    text with five bits in each character, and its `length`. The filter grows with the number of `updates`,
    up to 128 kB. At that size and with 100,000 keys, one of seven other keys passes.
-#}
{% macro _get_key_filter(collection, changelog, identity, updates) -%}
    {%- set length = [2 ** (2 * updates).bit_length(), 131072] | min -%}
    {%- set sql = trueup._key_filter_select(
        changelog, trueup._session_name(collection, 'applied'), identity, length
    ) -%}
    {{ return({'bits': run_query(sql).rows[0][0], 'length': length}) }}
{%- endmacro %}


{#- The select behind `_get_key_filter`: one row, the text. -#}
{% macro _key_filter_select(changelog, applied, identity, length) -%}
with

keys as (

    select {{ trueup._bit_expr(identity, 'tail', length) }} as _bit
    from {{ changelog }} as tail
    where _seq > {{ applied }}

),

filled as (

    select _bit div 5 as place, bit_or(shiftleft(1, cast(_bit % 5 as int))) as bits
    from keys
    group by _bit div 5

),

in_sequence as (

    select array_sort(collect_list(struct(place, bits))) as _places from filled

)

select rpad(
    array_join(
        transform(_places, (_place, _i) -> concat(
            repeat('0', cast(_place.place - if(_i = 0, 0, _places[_i - 1].place + 1) as int)),
            char(48 + _place.bits)
        )),
        ''
    ),
    {{ length }},
    '0'
)
from in_sequence
{%- endmacro %}


{#- A condition: whether the filter may contain the key of `alias`. -#}
{% macro _in_key_filter_expr(key_filter, identity, alias) -%}
    {%- set bit = trueup._bit_expr(identity, alias, key_filter.length) -%}
    {{ return(
        "bit_get(ascii(cast(substring(cast('" ~ key_filter.bits ~ "' as binary), cast(" ~ bit
        ~ ' div 5 as int) + 1, 1) as string)) - 48, cast(' ~ bit ~ ' % 5 as int)) = 1'
    ) }}
{%- endmacro %}


{#- The number of the bit of a key, in a filter with the given number of characters. -#}
{% macro _bit_expr(identity, alias, length) -%}
    {{ return('pmod(' ~ trueup._key_hash_expr(identity, alias) ~ ', ' ~ 5 * length ~ ')') }}
{%- endmacro %}
