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


{#- The columns of an update in the changelog, besides its content (key, values, error, error key). -#}
{% macro _update_columns() -%}
    {{ return([
        '_ts', '_diff', '_cause', '_kind', '_seq', '_lower', '_upper', '_batch_id', '_statistics',
        '_certificate'
    ]) }}
{%- endmacro %}


{#- The columns of a row of the state, besides its content. -#}
{% macro _state_columns() -%}
    {{ return(['_ts', '_kind', '_seq', '_upper']) }}
{%- endmacro %}


{#- The columns of the commands that only some logs have, by name. -#}
{% macro _extra_columns(columns) -%}
    {%- set extras = [
        '_unchanged', '_unchanged_value', '_old_key', '_partition', '_offset', '_arrived'
    ] -%}
    {{ return(columns | map(attribute='name') | select('in', extras) | list) }}
{%- endmacro %}


{#- The user's columns among the columns of the changelog or of the commands. -#}
{% macro _user_columns(columns) -%}
    {{ return(columns | rejectattr('name', 'in', trueup._own_columns()) | list) }}
{%- endmacro %}


{#- The names of the columns that do not belong to the key. -#}
{% macro _value_names(columns, unique_key) -%}
    {{ return(columns | map(attribute='name') | reject('in', unique_key) | list) }}
{%- endmacro %}
