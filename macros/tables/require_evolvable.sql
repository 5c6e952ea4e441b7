{#- What stops a change of the columns. -#}

{#-
    Raises if the state has a column that is about to be added to the changelog. A run adds it to the changelog first,
    so somebody has dropped it there. A new column would hide that the values are lost.
-#}
{% macro _require_not_in_state(changelog, state, added) -%}
    {%- set known = trueup._get_user_columns(state) | map(attribute='name') | map('lower') | list -%}
    {%- set lost = [] -%}
    {%- for column in added if column.name | lower in known -%}
        {%- do lost.append(column.name) -%}
    {%- endfor -%}
    {%- if lost -%}
        {%- do trueup._raise_error(
            'The columns of ' ~ changelog, 'those of its state', 'a table without ' ~ (lost | join(', ')),
            'Another run may be adding a column: run again. If the error stays, and somebody has renamed the column,'
            ~ ' rename it back. If somebody has dropped it, restore the table from a backup.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    Raises if the state has a column that its changelog lacks, or a column of another type that is no narrower one: no
    run makes them. `changes` are those from the state to its changelog.
-#}
{% macro _require_columns_of_state(collection, stored_columns, state_columns, changes) -%}
    {%- set found = [] -%}
    {%- for column in changes.dropped -%}
        {%- do found.append('also ' ~ column.name) -%}
    {%- endfor -%}
    {%- for column in changes.changed -%}
        {%- do found.append(column.name ~ ', which is ' ~ column.old_type ~ ' and not ' ~ column.type) -%}
    {%- endfor -%}
    {%- if found and not trueup._open_widenings(state_columns) -%}
        {%- do trueup._raise_error(
            'The columns of ' ~ collection.state,
            'those of its changelog: ' ~ (stored_columns | map(attribute='name') | join(', ')),
            found | join('; '),
            'Another run may be changing the column: run again. If the error stays, somebody has added, renamed or'
            ~ ' changed it. Then rebuild the state from the changelog: '
            ~ trueup._rebuild_command(collection.name) ~ '.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if another run is widening a column of the changelog. -#}
{% macro _require_no_open_widening(changelog, columns) -%}
    {%- if trueup._open_widenings(columns) -%}
        {%- do exceptions.raise_compiler_error(trueup._columns_moved_message(changelog)) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if the tables cannot follow a change, or if the option forbids it. -#}
{% macro _require_evolvable(collection, changes) -%}
    {%- set changelog, options = collection.changelog, collection.options -%}
    {%- set source = trueup._source_role(collection.name) -%}
    {%- set relation = 'the relation that `trueup.commands` reads' if source == 'commands'
        else 'the SELECT of ' ~ collection.name ~ '_' ~ source -%}
    {%- if options.on_schema_change != 'ignore' -%}
        {%- do trueup._require_storable_columns(changes.added) -%}
    {%- endif -%}
    {%- set rebase = 'begin the collection again: ' ~ trueup._rebase_command(collection.name) -%}
    {%- set may_widen = options.on_schema_change == 'append_new_columns' -%}
    {%- set key = collection.unique_key | map('lower') | list -%}
    {%- set refused = [] -%}
    {%- for column in changes.changed + changes.widened
        if column in changes.changed or column.name | lower in key or not may_widen -%}
        {%- do refused.append(trueup._type_change(column)) -%}
    {%- endfor -%}
    {%- if refused -%}
        {%- do trueup._raise_error(
            'Each key and value column of ' ~ collection.name ~ '_' ~ source,
            'of the type that it has in ' ~ changelog ~ (
                ', or of a wider one if it is not part of the key (bigint for int, double for'
                ~ ' float, a decimal with more digits and the same scale, timestamp for date)'
                if may_widen else ', with option `on_schema_change: '
                ~ options.on_schema_change ~ '`'
            ),
            refused | join('; '),
            'Cast it back in ' ~ relation ~ ', or ' ~ rebase
        ) -%}
    {%- endif -%}
    {%- if options.on_schema_change == 'fail' and (changes.added or changes.dropped) -%}
        {%- set names = [] -%}
        {%- for column in changes.added -%}
            {%- do names.append(column.name ~ ', which is new') -%}
        {%- endfor -%}
        {%- for column in changes.dropped -%}
            {%- do names.append(column.name ~ ', which is missing') -%}
        {%- endfor -%}
        {%- do trueup._raise_error(
            'With option `on_schema_change: fail` the columns of ' ~ collection.name ~ '_' ~ source,
            'those of ' ~ changelog, names | join('; '),
            'Put them back, set the option to append_new_columns or ignore, or ' ~ rebase
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises if another run has undone a widening: a statement that reads the table would cast its dates. -#}
{% macro _require_widened(table, columns, widened) -%}
    {%- set left = trueup._schema_changes(widened, columns) -%}
    {%- if left.widened or left.added -%}
        {%- do exceptions.raise_compiler_error(trueup._columns_moved_message(table)) -%}
    {%- endif -%}
{%- endmacro %}
