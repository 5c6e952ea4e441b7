{#-
    The kind of a row of the state: a row, an open error, or an order row. `alias` is the relation or the
    struct that has its `_error_key`.
-#}
{% macro _kind_expr(error, alias=none) -%}
    {{ return(
        'case when ' ~ error ~ " is null then 'row' when " ~ trueup._is_order_key_expr(alias)
        ~ " then 'order' else 'error' end"
    ) }}
{%- endmacro %}


{#- Whether a row of the changelog or of a batch is an update or an order row, and not a progress row. -#}
{% macro _is_content_expr(alias=none) -%}
    {{ return((alias ~ '.' if alias else '') ~ "_kind in ('update', 'order')") }}
{%- endmacro %}


{#- The kind of an error: a bad value, a key that cannot be decoded, or a missing key. -#}
{% macro _error_kind_expr() -%}
case
        when _error_key is null then 'value'
        when _error_key = 'null' then 'null_key'
        else 'key'
    end
{%- endmacro %}
