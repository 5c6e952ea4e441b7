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


{#-
    Whether a row of the state has the kind that its error and its error key ask for. Another kind is an edit: the
    views would show the row as something else, or not at all.
-#}
{% macro _is_of_its_kind_expr() -%}
    {{ return('_kind <=> ' ~ trueup._kind_expr('_error')) }}
{%- endmacro %}


{#- Whether a row of the changelog or of a batch is an update or an order row, and not a progress row. -#}
{% macro _is_content_expr(alias=none) -%}
    {{ return((alias ~ '.' if alias else '') ~ "_kind in ('update', 'order')") }}
{%- endmacro %}


{#-
    Whether a row of the changelog or of a batch is an update or an order row, and has the kind that its error key asks
    for. Another kind is an edit: macros that read the history would leave the row out.
-#}
{% macro _is_update_of_its_kind_expr() -%}
    {{ return(
        "_kind <=> case when coalesce(" ~ trueup._is_order_key_expr() ~ ", false) then 'order' else 'update' end"
    ) }}
{%- endmacro %}


{#-
    Whether a correction is for a batch. One with the cause `external_edit` is not: it is an edit of the state that
    a heal has repaired.
-#}
{% macro _is_for_batch_expr() -%}
    {{ return("not (_cause <=> 'external_edit')") }}
{%- endmacro %}


{#- The kind of an error: a bad value, a key that cannot be decoded, or a missing key. -#}
{% macro _error_kind_expr() -%}
case
        when _error_key is null then 'value'
        when _error_key = 'null' then 'null_key'
        else 'key'
    end
{%- endmacro %}


{#- How many updates and order rows a batch has written, from its progress row. -#}
{% macro _rows_of_batch_count_expr() -%}
    {{ return('_statistics.updates_staged + coalesce(_statistics.orders_staged, 0)') }}
{%- endmacro %}
