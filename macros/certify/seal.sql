{#-
    The hashes of a seal. `_seal_type` says what each of them covers.
-#}

{#- The part of one update in the hash `updates`. The source has `_digest`, the digest of the row. -#}
{% macro _update_mark_expr() -%}
xxhash64(_digest.checksum, _ts, _diff, _cause)
{%- endmacro %}


{#- The hash of the certificate `_certificate`. -#}
{% macro _certificate_hash_expr() -%}
xxhash64(_certificate)
{%- endmacro %}


{#-
    The hash `own`. `fields` maps `_seq`, `_lower`, `_upper`, `_batch_id`, `updates`, `certificate`
    and `previous` to expressions. The struct `_statistics` holds all other fields.

    The fields are hashed as JSON, with their names and without nulls. So a field that is null, or that a
    later version adds, does not change the hash. JSON is also one short expression: Spark plans it faster
    than a hash that takes the fields one by one.
-#}
{% macro _own_seal_expr(fields) -%}
    {%- set fields_of_statistics = {} -%}
    {%- for field in trueup._statistics_fields()
        if field.name not in ['since', 'committed_at', 'seal'] -%}
        {%- set value = '_statistics.' ~ field.name -%}
        {%- do fields_of_statistics.update({
            field.name: 'unix_micros(' ~ value ~ ')' if field.type == 'timestamp' else value
        }) -%}
    {%- endfor -%}
    {%- set values = dict(fields, statistics=trueup._sorted_struct_expr(fields_of_statistics)) -%}
xxhash64(to_json({{ trueup._sorted_struct_expr(values) }}, map('ignoreNullFields', 'true')))
{%- endmacro %}


{#- A struct of expressions by name, sorted by name. -#}
{% macro _sorted_struct_expr(values) -%}
    {%- set fields = [] -%}
    {%- for name, value in values | dictsort -%}
        {%- do fields.append(trueup._literal(name) ~ ', ' ~ value) -%}
    {%- endfor -%}
    {{ return('named_struct(' ~ (fields | join(', ')) ~ ')') }}
{%- endmacro %}


{#- The hash `committed`. -#}
{% macro _committed_seal_expr(own, since, committed_at) -%}
xxhash64({{ own }}, {{ since }} is null, {{ since }}, unix_micros({{ committed_at }}))
{%- endmacro %}


{#- The seal of a staged progress row. Its batch is not appended yet. The source has its fields. -#}
{% macro _staged_seal_expr(plan) -%}
    {%- set fields = {
        '_seq': plan ~ '.seq', '_lower': plan ~ '.lower', '_upper': plan ~ '.upper',
        '_batch_id': plan ~ '.batch_id', 'previous': plan ~ '.last_seal',
        'updates': '_digest_marks', 'certificate': trueup._certificate_hash_expr(),
    } -%}
named_struct(
            'updates', {{ fields.updates }},
            'certificate', {{ fields.certificate }},
            'previous', {{ fields.previous }},
            'own', {{ trueup._own_seal_expr(fields) }},
            'committed', cast(null as bigint)
        )
{%- endmacro %}


{#- Whether `own` is the hash of its own progress row. -#}
{% macro _is_own_seal_expr() -%}
    {%- set seal = '_statistics.seal.' -%}
    {%- set fields = {
        '_seq': '_seq', '_lower': '_lower', '_upper': '_upper', '_batch_id': '_batch_id',
        'previous': seal ~ 'previous', 'updates': seal ~ 'updates',
        'certificate': seal ~ 'certificate',
    } -%}
{{ seal }}own <=> {{ trueup._own_seal_expr(fields) }}
{%- endmacro %}


{#-
    Whether a progress row of a changelog is unchanged since it was appended. The certificate is not
    checked.
-#}
{% macro _is_sealed_expr() -%}
({{ trueup._is_own_seal_expr() }}
            and _statistics.seal.committed <=> {{ trueup._committed_seal_expr(
                '_statistics.seal.own', '_statistics.since', '_statistics.committed_at'
            ) }})
{%- endmacro %}


{#- The upper of a progress row of a changelog; raises if the row was edited. -#}
{% macro _sealed_upper_expr(changelog) -%}
case
            when {{ trueup._is_sealed_expr() }} then _upper
            else raise_error(concat(
                'damaged changelog: the progress row of batch ', _seq, ' in {{ changelog }} was edited;'
                ' nothing is written. Restore the changelog from a snapshot or a backup'
            ))
        end
{%- endmacro %}


{#-
    The first batch whose progress row is missing, doubled or edited; null if there is none.

    It reads `_seals`, the seals of the progress rows of a changelog from the batch `first_seq` on: a list of
    structs of `_seq`, `_own`, `_previous` and `_is_sealed`. The list must be sorted already. A lambda that
    sorts it would sort again for each element.
-#}
{% macro _first_unsealed_expr(first_seq=1) -%}
array_min(transform(
        filter(
            transform(_seals, (_seal, _i) -> struct(
                _seal,
                _i + {{ first_seq }} as _place,
                {% if first_seq > 1 -%}
                -- The batch before the first one is not in the list.
                if(_i = 0, _seal._previous, _seals[_i - 1]._own) as _own_before
                {%- else -%}
                if(_i = 0, null, _seals[_i - 1]._own) as _own_before
                {%- endif %}
            )),
            _each -> not (
                _each._seal._is_sealed
                and _each._seal._seq = _each._place
                and _each._seal._previous <=> _each._own_before
            )
        ),
        _each -> least(_each._seal._seq, _each._place)
    ))
{%- endmacro %}
