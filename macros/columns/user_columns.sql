{#-
    Names that are ours: first the columns of the commands and the changelog, then those that exist only within
    a statement. The name of a user's column may not begin with one of them.
-#}
{% macro _own_columns() -%}
    {{ return([
        '_ts', '_order', '_op', '_error', '_error_key', '_diff', '_cause', '_kind',
        '_seq', '_lower', '_upper', '_batch_id', '_statistics', '_certificate', '_digest', '_purged',
        '_unchanged', '_unchanged_value', '_old_key', '_partition', '_offset', '_arrived',
        '_value', '_hash', '_step', '_command', '_prior', '_is_', '_was_', '_last', '_applied',
        '_segment', '_known', '_widening', '_missing', '_carrier', '_net_', '_first', '_positions',
        '_next_', '_previous', '_tie', '_persisted', '_desired', '_after_batch_id', '_match',
    ]) }}
{%- endmacro %}
