{#-
    Schema evolution: what becomes of the changelog and the state when the columns of the commands
    change. The changelog is changed last, because what it has decides whether there is anything
    left to do.
-#}

{#-
    Brings the tables to the columns of the commands, as far as the option `on_schema_change` allows
    it, and returns the key and value columns that they have then. Raises before it touches them.
-#}
{% macro evolve_shard(changelog, state, unique_key, columns, options) -%}
    {%- set changes = trueup.find_schema_changes(columns, trueup.get_shard_columns(changelog)) -%}
    {%- do trueup._require_evolvable(changelog, changes, columns, unique_key, options) -%}
    {%- if options.on_schema_change == 'append_new_columns'
            and (changes.added or changes.widened or changes.unfinished) -%}
        {%- for table in [state, changelog] -%}
            {%- do trueup._evolve_table(table, columns) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(trueup.get_exact_columns(changelog)) }}
{%- endmacro %}


{#-
    How the columns of the commands differ from those of a table. A dict of lists:

    `added`       columns that the table does not have
    `dropped`     columns of the table that the commands do not have: null from now on
    `widened`     columns whose type holds all values of the table's, and more
    `changed`     columns of another type, each as `name: type there, type here`
    `unfinished`  helper columns of a widening that did not come to its end
-#}
{% macro find_schema_changes(columns, table_columns) -%}
    {%- set there = {} -%}
    {%- for column in table_columns -%}
        {%- do there.update({column.name | lower: column}) -%}
    {%- endfor -%}
    {%- set here = columns | map(attribute='name') | map('lower') | list -%}
    {%- set changes = {
        'added': [], 'dropped': [], 'widened': [], 'changed': [], 'unfinished': []
    } -%}
    {%- for column in columns -%}
        {%- set old = there.get(column.name | lower) -%}
        {%- if old is none -%}
            {%- do changes.added.append(column) -%}
        {%- elif trueup._stored_type(column.type) != trueup._stored_type(old.type) -%}
            {%- if trueup._is_wider(column.type, old.type) -%}
                {%- do changes.widened.append({
                    'name': old.name, 'type': column.type, 'old_type': old.type
                }) -%}
            {%- else -%}
                {%- do changes.changed.append(old.name ~ ': ' ~ old.type ~ ', ' ~ column.type) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for column in table_columns if column.name | lower not in here -%}
        {%- set list = 'unfinished' if column.name.startswith('_widening_') else 'dropped' -%}
        {%- do changes[list].append(column) -%}
    {%- endfor -%}
    {{ return(changes) }}
{%- endmacro %}


{#- A type as the table stores it: Iceberg has no integer smaller than int. -#}
{% macro _stored_type(type) -%}
    {{ return(modules.re.sub('\\b(tinyint|smallint)\\b', 'int', type)) }}
{%- endmacro %}


{#- Whether a type holds all values of an older one, exactly. -#}
{% macro _is_wider(type, old_type) -%}
    {%- set pairs = [('bigint', 'int'), ('double', 'float'), ('timestamp', 'date')] -%}
    {%- if (type, trueup._stored_type(old_type)) in pairs -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set decimal = '^decimal\\((\\d+),(\\d+)\\)$' -%}
    {%- set new = modules.re.match(decimal, type) -%}
    {%- set old = modules.re.match(decimal, old_type) -%}
    {{ return(
        new is not none and old is not none
        and new.group(2) == old.group(2) and new.group(1) | int > old.group(1) | int
    ) }}
{%- endmacro %}


{#- Raises where a change is one that the tables cannot follow, or that the option forbids. -#}
{% macro _require_evolvable(changelog, changes, columns, unique_key, options) -%}
    {%- set rebase = "start again from the log: --full-refresh and --vars '{trueup_rebase: true}'" -%}
    {%- set key = unique_key | map('lower') | list -%}
    {%- set widened_key = changes.widened | map(attribute='name') | map('lower') | select('in', key) -%}
    {%- set refused = changes.changed + widened_key | list -%}
    {%- if options.on_schema_change != 'append_new_columns' -%}
        {%- set refused = refused + changes.widened | map(attribute='name') | list -%}
    {%- endif -%}
    {%- if refused -%}
        {%- do trueup._refuse(
            'The columns of the commands of ' ~ changelog,
            'of the types that it was made with, or wider ones (int to bigint, float to double,'
            ~ ' decimal to one with more digits, date to timestamp; not in the key)',
            refused | join('; '),
            'Cast them back in the relation that `trueup.commands` reads, or ' ~ rebase ~ '.'
        ) -%}
    {%- endif -%}
    {%- set names = (changes.added + changes.dropped) | map(attribute='name') | join(', ') -%}
    {%- if options.on_schema_change == 'fail' and names -%}
        {%- do trueup._refuse(
            'With option `on_schema_change: fail` the columns of the commands',
            'those that ' ~ changelog ~ ' has', names ~ ', which only one of them has',
            'Put them back, set the option to append_new_columns or ignore, or ' ~ rebase ~ '.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{% macro _evolve_table(table, columns) -%}
    {%- set changes = trueup.find_schema_changes(columns, trueup.get_shard_columns(table)) -%}
    {%- for column in changes.unfinished -%}
        {%- set name = column.name[10:] -%}
        {%- if name in changes.added | map(attribute='name') -%}
            {#- The old column is gone: it was widened but for its name. -#}
            {%- do run_query(trueup._rename_column_sql(table, column.name, name)) -%}
        {%- elif name not in changes.widened | map(attribute='name') -%}
            {#- Nobody wants it wider any more. -#}
            {%- do run_query(
                'alter table ' ~ table ~ ' drop column ' ~ trueup._quote(column.name)
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set renamed = changes.unfinished | map(attribute='name') | list -%}
    {%- for column in changes.added if '_widening_' ~ column.name not in renamed -%}
        {%- do run_query(
            'alter table ' ~ table ~ ' add column ' ~ trueup._quote(column.name) ~ ' ' ~ column.type
        ) -%}
    {%- endfor -%}
    {%- for column in changes.widened -%}
        {%- for statement in trueup.widen_column_sqls(
            table, column, is_begun='_widening_' ~ column.name in renamed
        ) -%}
            {%- do run_query(statement) -%}
        {%- endfor -%}
    {%- endfor -%}
{%- endmacro %}


{#-
    The statements that widen a column, in sequence. Iceberg cannot make a date a timestamp in
    place: a helper column takes the values, and then the name. Whichever of these statements a run
    is killed after, the next run goes on from there; a batch that another run appends meanwhile
    does not fit the table, and that run fails.
-#}
{% macro widen_column_sqls(table, column, is_begun) -%}
    {%- set name = trueup._quote(column.name) -%}
    {%- if column.old_type != 'date' -%}
        {{ return(['alter table ' ~ table ~ ' alter column ' ~ name ~ ' type ' ~ column.type]) }}
    {%- endif -%}
    {%- set helper = '_widening_' ~ column.name -%}
    {%- set quoted = trueup._quote(helper) -%}
    {%- set add = 'alter table ' ~ table ~ ' add column ' ~ quoted ~ ' ' ~ column.type -%}
    {{ return(([] if is_begun else [add]) + [
        'update ' ~ table ~ ' set ' ~ quoted ~ ' = cast(' ~ name ~ ' as ' ~ column.type ~ ')'
            ~ ' where ' ~ name ~ ' is not null',
        'alter table ' ~ table ~ ' drop column ' ~ name,
        trueup._rename_column_sql(table, helper, column.name),
    ]) }}
{%- endmacro %}


{% macro _rename_column_sql(table, from, to) -%}
    {{ return(
        'alter table ' ~ table ~ ' rename column ' ~ trueup._quote(from) ~ ' to ' ~ trueup._quote(to)
    ) }}
{%- endmacro %}
