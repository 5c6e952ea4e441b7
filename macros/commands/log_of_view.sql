{#-
    The view of the commands has the name of the log in its query. With another relation in this place, the
    same query reads only a part of the log.
-#}

{#- The statement that makes a view again. -#}
{% macro _get_view_statement(relation) -%}
    {{ return(run_query('show create table ' ~ relation).rows[0][0] | string) }}
{%- endmacro %}


{#-
    The query of a view of commands, from the statement that makes the view. None if the model is more than the
    call of a macro of trueup and comments before it. The comments of the view and of its columns come before
    the query and may hold any text.
-#}
{% macro _query_of_view(statement) -%}
    {%- set found = modules.re.search(
        '(?s)\nAS\\s(' ~ trueup._space_pattern() ~ 'with log as \\(.*)', statement
    ) -%}
    {{ return(found.group(1) if found else none) }}
{%- endmacro %}


{#-
    The relation of the argument `relation`, with the mark if it is the plain name of a table. A join, a
    SELECT, an alias, a version, a branch and a path have none. There is no mark either if one of the other
    `arguments` has a subquery.
-#}
{% macro _marked_log(relation, arguments=[]) -%}
    {%- set is_name = modules.re.fullmatch(
        trueup._name_pattern() ~ '(?:\\.' ~ trueup._name_pattern() ~ ')*', relation | string
    ) -%}
    {%- set is_version = modules.re.search(
        '(^\\d+$|\\.`?(branch_|tag_|snapshot_id_|at_timestamp_)|/)', relation | string
    ) -%}
    {%- set is_marked = is_name and not is_version and not trueup._has_subquery(arguments | join(', ')) -%}
    {{ return(relation ~ (' ' ~ trueup._log_mark() if is_marked else '')) }}
{%- endmacro %}


{#- Whether an expression has a subquery. It may have other forms than a SELECT, such as `(table blocked)`. -#}
{% macro _has_subquery(expression) -%}
    {%- set begins = '(?i)[(]' ~ trueup._space_pattern() ~ '(select|with|table|from|values)\\b' -%}
    {{ return(modules.re.search(begins, expression) is not none) }}
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
    {%- set name = trueup._name_pattern() -%}
    {%- set marked = 'from\\s+(' ~ name ~ '(?:\\.' ~ name ~ ')*) ' ~ modules.re.escape(trueup._log_mark()) -%}
    {%- set found = modules.re.findall(marked, query or '') -%}
    {%- set has_window = modules.re.search('(?i)\\bover(\\s*\\(|\\s+[\\w`])', query or '') -%}
    {%- set arguments = (query or '').rpartition(trueup._log_boundary())[2] -%}
    {%- set has_subquery = modules.re.findall('(?i)\\bselect\\b', arguments) | length > 1
        or trueup._has_subquery(arguments) -%}
    {{ return(found[0] if found | length == 1 and not has_window and not has_subquery else none) }}
{%- endmacro %}


{#- The query of a view of commands that reads `rows` in place of the whole log. -#}
{% macro _log_part_select(query, rows) -%}
    {%- set marked = trueup._log_of_view(query) ~ ' ' ~ trueup._log_mark() -%}
    {{ return(query.replace(marked, rows)) }}
{%- endmacro %}
