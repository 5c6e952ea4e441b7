{#-
    The keys of the batches after the variable `applied`. They are read before the apply, and only if that
    saves more than it costs. A dict: `key_range` and `key_filter`, each none if it does not help.
-#}
{% macro _get_tail_keys(collection, tail) -%}
    {%- set unique_key, changelog = collection.unique_key, collection.changelog -%}
    {%- set updates = tail.updates_ahead -%}
    {%- if not trueup._is_lookup_worthwhile(updates, tail.records_indexed) -%}
        {{ return({'key_range': none, 'key_filter': none}) }}
    {%- endif -%}
    {%- set keys -%}
select {{ trueup._quoted(unique_key[0]) }}
from {{ changelog }}
where {{ trueup._is_content_expr() }} and _seq > {{ trueup._session_name(collection.name, 'applied') }}
    {%- endset -%}
    {{ return({
        'key_range': trueup._get_key_range(
            [keys], unique_key, trueup._get_user_columns(changelog)
        ),
        'key_filter': trueup._get_key_filter(
            collection.name, changelog, collection.identity, updates
        ) if trueup._is_key_filter_worthwhile(updates) else none,
    }) }}
{%- endmacro %}
