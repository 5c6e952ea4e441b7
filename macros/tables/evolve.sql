{#-
    Schema evolution: what becomes of the changelog and the state when the columns of the commands
    change. The changelog follows the commands as far as it may, and the state follows the
    changelog, so that a run which was killed in between leaves nothing that stays behind.
-#}

{#-
    Brings the tables to the columns of the commands, as far as the option `on_schema_change` allows
    it, and returns the key and value columns that they have then. Raises before it changes them.
-#}
{% macro evolve_shard(changelog, state, unique_key, columns, options) -%}
    {%- set shard_columns = trueup.settle_widenings(changelog) -%}
    {%- set changes = trueup.find_schema_changes(columns, shard_columns) -%}
    {%- do trueup._require_evolvable(changelog, changes, unique_key, options) -%}
    {%- if options.on_schema_change == 'ignore' -%}
        {%- do changes.update({'added': []}) -%}
    {%- endif -%}
    {%- do trueup._evolve_table(changelog, changes) -%}
    {%- if changes.added or changes.widened -%}
        {%- set shard_columns = trueup.get_shard_columns(changelog) -%}
    {%- endif -%}
    {%- if trueup._find_widenings(shard_columns) -%}
        {%- do exceptions.raise_compiler_error(trueup._columns_moved(changelog)) -%}
    {%- endif -%}
    {%- do trueup.follow_changelog(state, shard_columns) -%}
    {{ return(shard_columns) }}
{%- endmacro %}


{#- Brings the state to the key and value columns of its changelog. -#}
{% macro follow_changelog(state, shard_columns) -%}
    {%- do trueup._evolve_table(
        state, trueup.find_schema_changes(shard_columns, trueup.settle_widenings(state))
    ) -%}
{%- endmacro %}


{#-
    How the columns of the commands differ from those of a table. A dict of lists:

    `added`       columns that the table does not have
    `dropped`     columns of the table that the commands do not have: null from now on
    `widened`     columns of a type that holds all values of the table's, and more
    `changed`     columns of any other type

    Each has `name` and `type`; widened and changed ones have `old_type`, that of the table, too.
-#}
{% macro find_schema_changes(columns, table_columns) -%}
    {%- set there = {} -%}
    {%- for column in table_columns -%}
        {%- do there.update({column.name | lower: column}) -%}
    {%- endfor -%}
    {%- set here = columns | map(attribute='name') | map('lower') | list -%}
    {%- set changes = {'added': [], 'dropped': [], 'widened': [], 'changed': []} -%}
    {%- for column in columns -%}
        {%- set old = there.get(column.name | lower) -%}
        {%- if old is none -%}
            {%- do changes.added.append(column) -%}
        {%- elif trueup._stored_type(column.type) != trueup._stored_type(old.type) -%}
            {%- set list = 'widened' if trueup._is_wider(column.type, old.type) else 'changed' -%}
            {%- do changes[list].append(
                {'name': old.name, 'type': column.type, 'old_type': old.type}
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for column in table_columns if column.name | lower not in here -%}
        {%- do changes.dropped.append(column) -%}
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
{% macro _require_evolvable(changelog, changes, unique_key, options) -%}
    {%- set rebase = "start again from the log: --full-refresh and --vars '{trueup_rebase: true}'" -%}
    {%- set may_widen = options.on_schema_change == 'append_new_columns' -%}
    {%- set key = unique_key | map('lower') | list -%}
    {%- set refused = [] -%}
    {%- for column in changes.changed + changes.widened
        if column in changes.changed or column.name | lower in key or not may_widen -%}
        {%- do refused.append(
            column.name ~ ', which was ' ~ column.old_type ~ ' and is ' ~ column.type
        ) -%}
    {%- endfor -%}
    {%- if refused -%}
        {%- do trueup._refuse(
            'Each key and value column of the commands',
            'of the type that it has in ' ~ changelog ~ (
                ', or of a wider one if it is not part of the key (bigint for int, double for'
                ~ ' float, a decimal with more digits and the same scale, timestamp for date)'
                if may_widen else ', with option `on_schema_change: '
                ~ options.on_schema_change ~ '`'
            ),
            refused | join('; '),
            'Cast it back in the relation that `trueup.commands` reads, or ' ~ rebase ~ '.'
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
        {%- do trueup._refuse(
            'With option `on_schema_change: fail` the columns of the commands',
            'those of ' ~ changelog, names | join('; '),
            'Put them back, set the option to append_new_columns or ignore, or ' ~ rebase ~ '.'
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Adds the columns that are new to a table, and widens those whose type is wider now. -#}
{% macro _evolve_table(table, changes) -%}
    {%- for column in changes.added -%}
        {%- do run_query(
            'alter table ' ~ table ~ ' add column ' ~ trueup._quote(column.name) ~ ' '
            ~ trueup._type_sql(column.type)
        ) -%}
    {%- endfor -%}
    {%- for column in changes.widened -%}
        {%- for statement in trueup.begin_widening_sqls(table, column) -%}
            {%- do run_query(statement) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if 'date' in changes.widened | map(attribute='old_type') -%}
        {%- do trueup._require_widened(
            table, trueup.settle_widenings(table), changes.widened
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- Raises where another run has called off a widening: what reads the table would cast its dates. -#}
{% macro _require_widened(table, columns, widened) -%}
    {%- set left = trueup.find_schema_changes(widened, columns) -%}
    {%- if left.widened or left.added -%}
        {%- do exceptions.raise_compiler_error(trueup._columns_moved(table)) -%}
    {%- endif -%}
{%- endmacro %}
