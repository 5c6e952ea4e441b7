{#-
    The view of the commands has the name of the log in its query. With another relation in this place, the
    same query reads only a part of the log.
-#}

{#- The relation of the argument `relation`, with the mark of a log if it is the name of a table. -#}
{% macro _marked_log(relation) -%}
    {{ return(relation ~ (' ' ~ trueup._log_mark() if trueup._is_table_name(relation) else '')) }}
{%- endmacro %}


{#-
    Whether a relation is the plain name of a table. A join, a SELECT, an alias, a version, a branch and a path are
    not. A relation of dbt (`ref`, `source`) cannot name a version or a branch, but its table may be called so.
-#}
{% macro _is_table_name(relation) -%}
    {%- set is_name = modules.re.fullmatch(
        trueup._name_pattern() ~ '(?:\\.' ~ trueup._name_pattern() ~ ')*', relation | string
    ) -%}
    {%- set is_version = modules.re.search(
        '(^\\d+$|/)' ~ ('|\\.`?(branch_|tag_|snapshot_id_|at_timestamp_)' if relation is string else ''),
        relation | string
    ) -%}
    {{ return(is_name is not none and is_version is none) }}
{%- endmacro %}


{#- Whether an expression has a subquery. It may have other forms than a SELECT, such as `(table blocked)`. -#}
{% macro _has_subquery(expression) -%}
    {%- set begins = '(?i)[(]' ~ trueup._space_pattern() ~ '(select|with|table|from|values)\\b' -%}
    {{ return(modules.re.search(begins, trueup._without_texts(expression)) is not none) }}
{%- endmacro %}


{#- A regular expression for white space and comments. It matches each text in one way, so it is fast. -#}
{% macro _space_pattern() -%}
    {{ return('(?:\\s|--[^\n]*\n|/[*](?:[^*]|[*](?!/))*[*]/)*') }}
{%- endmacro %}


{#- A regular expression for one part of a name. -#}
{% macro _name_pattern() -%}
    {{ return('(?:`[^`]+`|\\w+)') }}
{%- endmacro %}


{#- A comment after the name of the log in the SQL of the commands. A run finds the name by it. -#}
{% macro _log_mark() -%}
    {{ return('/* the log */') }}
{%- endmacro %}


{#-
    The name of the log in the query of a view of commands. None if it is not one table. None also if an
    argument has a window or a subquery: it may depend on other rows of the log.
-#}
{% macro _log_of_view(query) -%}
    {%- set place = trueup._place_of_log(query or '') -%}
    {{ return(query[place[0]:place[1]] if place else none) }}
{%- endmacro %}


{#- Where `_log_of_view` is in the query: its start and its end. -#}
{% macro _place_of_log(query) -%}
    {%- set sql, name = trueup._without_texts(query), trueup._name_pattern() -%}
    {%- set marked = 'from\\s+(' ~ name ~ '(?:\\.' ~ name ~ ')*) ' ~ modules.re.escape(trueup._log_mark()) -%}
    {%- set has_window = modules.re.search('(?i)\\bover(\\s*\\(|\\s+[\\w`])', sql) -%}
    {%- set arguments = sql.rpartition(trueup._log_boundary())[2] -%}
    {%- set has_subquery = modules.re.findall('(?i)\\bselect\\b', arguments) | length > 1
        or trueup._has_subquery(arguments) -%}
    {%- set found = modules.re.finditer(marked, sql) | list -%}
    {%- if has_window or has_subquery or found | length != 1 -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return([found[0].start(1), found[0].end(1)]) }}
{%- endmacro %}


{#- The query of a view of commands that reads `rows` in place of the whole log. -#}
{% macro _log_part_select(query, rows) -%}
    {%- set place = trueup._place_of_log(query) -%}
    {{ return(query[:place[0]] ~ rows ~ query[place[1] + 1 + trueup._log_mark() | length:]) }}
{%- endmacro %}
