{#- The names of the sums of a certificate. `value_xor` is not a sum; `_certificate_fields` has it, too. -#}
{% macro _certificate_sums() -%}
    {{ return(['diff_sum', 'len_sum', 'checksum_low_sum', 'checksum_high_sum']) }}
{%- endmacro %}


{#-
    The fields of a certificate after `bucket`, in the order of `_certificate_type`. `alias` is the relation or
    the struct that has them.
-#}
{% macro _certificate_fields(alias=none) -%}
    {%- set fields = [] -%}
    {%- for name in trueup._certificate_sums() + ['value_xor'] -%}
        {%- do fields.append((alias ~ '.' if alias else '') ~ name) -%}
    {%- endfor -%}
    {{ return(fields) }}
{%- endmacro %}


{#- What an update adds to each field of its bucket, as SQL expressions. The source has its `_digest` and `_diff`. -#}
{% macro _certificate_terms() -%}
    {{ return({
        'diff_sum': 'cast(_diff as bigint)',
        'len_sum': '_digest.length * _diff',
        'checksum_low_sum': '(_digest.checksum & 4294967295) * _diff',
        'checksum_high_sum': 'shiftright(_digest.checksum, 32) * _diff',
        'value_xor': 'xxhash64(_digest.checksum)',
    }) }}
{%- endmacro %}


{#-
    A select of entries that add up to a certificate. Each row of `source` has `_digest` and
    `_diff`.
-#}
{% macro _certificate_entries_select(source, also=none) -%}
select
    {% if also %}{{ also }},
    {% endif -%}
    _digest.bucket
    {%- for name, term in trueup._certificate_terms().items() %},
    {{ term }} as {{ name }}
    {%- endfor %}
from {{ source }}
{%- endmacro %}


{#- How the entries of a bucket add up to each field, as SQL aggregates. `alias` is the struct that has the fields. -#}
{% macro _certificate_aggregates(alias=none) -%}
    {%- set aggregates = {} -%}
    {%- for name in trueup._certificate_fields() -%}
        {%- do aggregates.update({
            name: ('bit_xor(' if name == 'value_xor' else 'sum(') ~ (alias ~ '.' if alias else '') ~ name ~ ')'
        }) -%}
    {%- endfor -%}
    {{ return(aggregates) }}
{%- endmacro %}


{#- The same for the columns of a relation, as select items. -#}
{% macro _certificate_aggregate_list() -%}
    {%- set items = [] -%}
    {%- for name, aggregate in trueup._certificate_aggregates().items() -%}
        {%- do items.append(aggregate ~ ' as ' ~ name) -%}
    {%- endfor -%}
    {{ return(items | join(',\n    ')) }}
{%- endmacro %}


{#- Whether any field is not 0, as a condition. `terms` are the fields, or what they add up to. -#}
{% macro _is_nonzero_expr(terms) -%}
    {{ return((terms | join(' <> 0 or ')) ~ ' <> 0') }}
{%- endmacro %}


{#- A select of the certificate that the CTE `entries` adds up to, by bucket. An empty bucket has no row. -#}
{% macro _summed_certificate_select() -%}
select
    bucket,
    {{ trueup._certificate_aggregate_list() }}
from entries
group by bucket
having {{ trueup._is_nonzero_expr(trueup._certificate_aggregates().values()) }}
{%- endmacro %}


{#-
    A select of the entries of the certificate of the batch `seq`. It raises if that certificate was
    edited, because each later certificate would add to the wrong sums.
-#}
{% macro _stored_certificate_select(changelog, seq) -%}
select inline(case
    when _statistics.seal.certificate <=> {{ trueup._certificate_hash_expr() }} then _certificate
    else raise_error(concat(
        'damaged changelog: the certificate of batch ', _seq, ' in {{ changelog }} was edited;'
        ' nothing is written. Restore the changelog from a snapshot or a backup'
    ))
end)
from {{ changelog }}
where _kind = 'progress' and _seq = {{ seq }}
{%- endmacro %}


{#- What a field of a whole certificate adds up to, over all buckets. -#}
{% macro _total_expr(certificate, field) -%}
    {{ return(
        'aggregate(' ~ certificate ~ ', 0L, (total, entry) -> total ' ~ ('^' if field == 'value_xor' else '+')
        ~ ' entry.' ~ field ~ ')'
    ) }}
{%- endmacro %}


{#- The same for each field of `_certificate`, as select items. -#}
{% macro _total_list() -%}
    {%- set items = [] -%}
    {%- for name in trueup._certificate_fields() -%}
        {%- do items.append(trueup._total_expr('_certificate', name) ~ ' as ' ~ name) -%}
    {%- endfor -%}
    {{ return(items | join(',\n        ')) }}
{%- endmacro %}


{#-
    Whether the aliases `certified` and `held` have the same certificate, as a condition. It is never null: a missing
    one has only nulls.
-#}
{% macro _same_certificate_expr() -%}
    {%- set terms = [] -%}
    {%- for name in trueup._certificate_fields() -%}
        {%- do terms.append('certified.' ~ name ~ ' <=> held.' ~ name) -%}
    {%- endfor -%}
    {{ return(terms | join(' and ')) }}
{%- endmacro %}
