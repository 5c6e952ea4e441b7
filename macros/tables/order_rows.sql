{#-
    The identity of an order row (`late: newest`): the row that keeps the place of the last command of a key.
    Its `_error_key` says which identity it belongs to: a good key, or a key error.
-#}

{#- The `_error_key` of an order row begins with this text. No error key of a log may. -#}
{% macro _order_key_prefix() -%}
    {{ return('trueup: last command') }}
{%- endmacro %}


{#- The `_error_key` of the order row of the identity in scope. -#}
{% macro _order_key_expr() -%}
concat({{ trueup._literal(trueup._order_key_prefix()) }}, coalesce(concat(' of ', _error_key), ''))
{%- endmacro %}


{#- Whether `_error_key`, or that of `alias`, is that of an order row; null for a good key. -#}
{% macro _is_order_key_expr(alias=none) -%}
    {{ return(
        'startswith(' ~ (alias ~ '.' if alias else '') ~ '_error_key, '
        ~ trueup._literal(trueup._order_key_prefix()) ~ ')'
    ) }}
{%- endmacro %}


{#- The `_error_key` of the identity that an order row, or that of `alias`, belongs to. -#}
{% macro _owner_error_key_expr(alias=none) -%}
    {%- set length, name = trueup._order_key_prefix() | length, (alias ~ '.' if alias else '') ~ '_error_key' -%}
case when length({{ name }}) > {{ length }} then substr({{ name }}, {{ length + 5 }}) end
{%- endmacro %}
