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
        '_new_', '_rival_', '_held_', '_state_', '_live_', '_found_',
    ]) }}
{%- endmacro %}


{#- More names that exist within a statement beside those of the user: a column may begin with one, but not have it. -#}
{% macro _names_within_statements() -%}
    {{ return([
        '_added', '_batch', '_batch_mark', '_before', '_bound', '_bounds', '_broken', '_bucket', '_change', '_content', '_contents', '_copies',
        '_cut', '_dead', '_delete_order', '_deleted_before', '_deleted_now', '_do', '_edited', '_fault',
        '_held', '_key', '_late', '_latest', '_left', '_length', '_live', '_mark', '_messages', '_move', '_new', '_next',
        '_notes', '_old', '_old_mark', '_place', '_rank', '_read_orders', '_remembered', '_retracted', '_rival',
        '_rows', '_run', '_said', '_scope', '_settled', '_since', '_text', '_tick', '_times', '_todo', '_top', '_truncated',
        '_truncated_before', '_truncates', '_truncates_read', '_unordered', '_upserted_now', '_verdict', '_winner',
    ]) }}
{%- endmacro %}


{#- The name of ours that stands in the way of a user's column; none if the column may have its name. -#}
{% macro _own_name_like(name) -%}
    {%- set found = namespace(own=name | lower if name | lower in trueup._names_within_statements() else none) -%}
    {%- for own in trueup._own_columns() if name.lower().startswith(own) -%}
        {%- set found.own = own -%}
    {%- endfor -%}
    {{ return(found.own) }}
{%- endmacro %}
