{#- What `explain` and `prove` must know of a collection before they can ask about its keys. -#}

{#-
    The object of a collection for a macro that belongs to none of its models: the fields of `_collection` and
    `_ensure_input` that the fold reads, and `columns`, the key and value columns of the changelog. `macro` is
    the macro that asks.
-#}
{% macro _get_explained_collection(collection, changelog, state, macro) -%}
    {%- for relation in [changelog, state] if load_relation(relation) is none -%}
        {%- do trueup._raise_error(
            trueup._argument(macro, 'collection'), 'the name of a collection that has run',
            collection ~ ', without the table ' ~ relation, 'Run: dbt run -s +' ~ collection ~ '.'
        ) -%}
    {%- endfor -%}
    {%- set unique_key = trueup._key_of_collection(collection) -%}
    {%- do trueup._require_key_of_changelog(
        collection, changelog, unique_key, trueup._get_properties(changelog)
    ) -%}
    {%- set desired = trueup._enabled_models(collection ~ '_desired') | first -%}
    {%- if desired -%}
        {%- set relation = trueup._relation_of_node(desired) -%}
        {%- set source = trueup._subquery(trueup._desired_rows_select(
            relation, unique_key, trueup._get_columns('select * from ' ~ relation)
        )) -%}
    {%- else -%}
        {%- set source = trueup._named_relation(collection, collection ~ '_commands', macro) -%}
    {%- endif -%}
    {%- set described = trueup._get_columns('select * from ' ~ source) -%}
    {{ return(dict(
        trueup._keyed_collection(collection, unique_key),
        options=trueup._options_of(collection, 'batch', is_by_select=desired is defined),
        is_by_select=desired is defined,
        changelog=changelog,
        state=state,
        commands=source,
        command_columns=trueup._user_columns(described),
        extras=trueup._extra_columns(described),
        columns=trueup._get_user_columns(changelog),
    )) }}
{%- endmacro %}


{#-
    The condition that a row belongs to the given key or error key, as an SQL expression. It asks the warehouse
    whether each value can be cast to the type of its column. An error key has no key columns.
-#}
{% macro _get_is_identity_expr(collection, key, error_key) -%}
    {%- if (key is none) == (error_key is none) -%}
        {%- do trueup._raise_error(
            'Exactly one of the arguments `key` and `error_key` of `trueup.explain`', 'given',
            'both' if key is not none else 'neither',
            'Give a value for each key column: ' ~ (collection.unique_key | join(', ')) ~ '.'
        ) -%}
    {%- elif error_key is not none -%}
        {%- set literals = ['null'] * collection.unique_key | length -%}
    {%- else -%}
        {%- set literals = trueup._get_key_literals(collection, key) -%}
    {%- endif -%}
    {%- set terms = ['_error_key <=> ' ~ trueup._literal_or_null(error_key)] -%}
    {%- for name in collection.unique_key -%}
        {%- do terms.append(trueup._quoted(name) ~ ' <=> ' ~ literals[loop.index0]) -%}
    {%- endfor -%}
    {{ return('(' ~ (terms | join(' and ')) ~ ')') }}
{%- endmacro %}


{#- The values of the key columns as SQL literals of their types, in the sequence of `unique_key`. -#}
{% macro _get_key_literals(collection, key) -%}
    {%- set subject, unique_key = trueup._argument('explain', 'key'), collection.unique_key -%}
    {%- set given = {} -%}
    {%- for name, value in (key.items() if key is mapping else []) -%}
        {%- do given.update({name | lower: value}) -%}
    {%- endfor -%}
    {%- if given.keys() | sort != unique_key | map('lower') | sort -%}
        {%- do trueup._raise_error(
            subject, 'a value for each of the key columns ' ~ (unique_key | join(', ')), key,
            'Name each key column once. A null is a value, too: `trueup explain` takes --null COLUMN.'
        ) -%}
    {%- endif -%}
    {%- set types = {} -%}
    {%- for column in collection.columns -%}
        {%- do types.update({column.name: column.type}) -%}
    {%- endfor -%}
    {%- set literals, checks = [], [] -%}
    {%- for name in unique_key -%}
        {%- set cast = trueup._typed_literal_expr(given[name | lower], types[name]) -%}
        {%- do literals.append(cast) -%}
        {%- do checks.append(cast ~ ' is not null' if given[name | lower] is not none else 'true') -%}
    {%- endfor -%}
    {%- set are_cast = run_query('select ' ~ (checks | join(', '))).rows[0] -%}
    {%- for name in unique_key -%}
        {%- if not are_cast[loop.index0] -%}
            {%- do trueup._raise_error(
                subject, 'a value of the type ' ~ types[name] ~ ' for the column ' ~ name,
                given[name | lower], 'Write it as Spark reads it in a cast to ' ~ types[name] ~ '.'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(literals) }}
{%- endmacro %}


{#-
    A value as an SQL literal of a type; null if it cannot be cast. A struct or an array is given as JSON. A cast would
    round a decimal, and so find another key.
-#}
{% macro _typed_literal_expr(value, type) -%}
    {%- if value is none or (type.startswith('decimal') and trueup._is_rounded(value, type)) -%}
        {{ return('cast(null as ' ~ trueup._sql_type(type) ~ ')') }}
    {%- elif type.startswith(('struct<', 'array<')) -%}
        {#- `from_json` would make a value of nulls of a text that is no such JSON. -#}
        {%- set read = 'try_variant_get(try_parse_json(' ~ trueup._literal(value) ~ "), '$', " -%}
        {%- set exact_type = trueup._sql_type(trueup._with_most_decimals(type)) -%}
        {%- set found = read ~ trueup._literal(trueup._sql_type(type)) ~ ')' -%}
        {{ return(
            'if(cast(' ~ found ~ ' as ' ~ exact_type ~ ') <=> ' ~ read ~ trueup._literal(exact_type) ~ '), '
            ~ found ~ ', null)' if exact_type != trueup._sql_type(type) else found
        ) }}
    {%- endif -%}
    {{ return('try_cast(' ~ trueup._literal(value) ~ ' as ' ~ type ~ ')') }}
{%- endmacro %}


{#-
    A type of a struct or an array in which each decimal has as many decimals as Spark allows beside its whole digits.
    It shows which numbers a cast to the type itself has rounded. A decimal of 38 digits cannot have more.
-#}
{% macro _with_most_decimals(type) -%}
    {%- set wide = namespace(type=type) -%}
    {%- for digits, decimals in modules.re.findall('decimal[(]([0-9]+),([0-9]+)[)]', type) -%}
        {%- set wide.type = wide.type.replace(
            'decimal(' ~ digits ~ ',' ~ decimals ~ ')', 'decimal(38,' ~ (38 - digits | int + decimals | int) ~ ')'
        ) -%}
    {%- endfor -%}
    {{ return(wide.type) }}
{%- endmacro %}


{#- Whether a cast to a decimal type rounds a number, because the number has more decimals than the type. -#}
{% macro _is_rounded(number, type) -%}
    {%- set found = modules.re.fullmatch('\\s*[+-]?([0-9]*)[.]?([0-9]*)(?:[eE]([+-]?[0-9]+))?\\s*', number | string) -%}
    {%- if not found -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set digits = found.group(1) ~ found.group(2) -%}
    {%- set zeros = digits | length - digits.rstrip('0') | length -%}
    {%- set decimals = found.group(2) | length - zeros - (found.group(3) or 0) | int -%}
    {{ return(zeros < digits | length and decimals > type.rpartition(',')[2].rstrip(')') | int) }}
{%- endmacro %}
