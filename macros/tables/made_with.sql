{#-
    With what a changelog was made: its key and the types of its order. Its table says so in properties, and a run
    with another key or order is refused before it writes.
-#}

{#-
    Raises unless the changelog was made with the key of the collection. `properties` are those of its table.
    `source_role` is the end of the name of the model that defines the rows, if the caller is no model.
-#}
{% macro _require_same_key(collection, properties, source_role=none) -%}
    {%- set name, came = 'trueup.unique_key', trueup._column_list(collection.unique_key) -%}
    {%- do trueup._require_made_with(collection.changelog, properties, name, came) -%}
    {%- if not trueup._is_made_with(properties, name, came) -%}
        {%- do trueup._raise_error(
            'Config `unique_key` of ' ~ collection.name, 'the key that ' ~ collection.changelog ~ ' was made with: '
            ~ properties[name], came,
            'Only upper and lower case differ: write the key as the changelog has it.'
            if properties[name] | lower == came | lower else
            'Another key makes another collection: put it back, or start again from the log: '
            ~ trueup._rebase_command(collection.name, source_role)
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The same for a macro that belongs to no model of the collection. -#}
{% macro _require_key_of_changelog(collection, changelog, unique_key, properties) -%}
    {%- do trueup._require_same_key(
        {'name': collection, 'changelog': changelog, 'unique_key': unique_key}, properties,
        source_role=trueup._source_role_of(collection)
    ) -%}
{%- endmacro %}


{#-
    Raises unless the order has the types that the changelog was made with. Orders are compared only within
    a tick, but a tick may still be open. With `late: newest` and without ticks all orders of a key are
    compared. `properties` are those of the table of the changelog.
-#}
{% macro _require_same_order(collection, properties) -%}
    {%- set changelog, came = collection.changelog, collection.order_type -%}
    {%- do trueup._require_made_with(changelog, properties, 'trueup.order', came) -%}
    {%- if not trueup._is_made_with(properties, 'trueup.order', came) -%}
        {%- set compares_all = collection.options.late == 'newest' and '_offset' in collection.extras -%}
        {%- do trueup._raise_error(
            'The order (`sequence_by`) of ' ~ model.name,
            'of the types that ' ~ changelog ~ ' was made with: ' ~ properties['trueup.order'], came,
            'Put it back; or' ~ (
                ' start again from the log: ' ~ trueup._rebase_command(collection.name) if compares_all
                else ', if commands of an open tick may be compared again: '
                    ~ trueup._set_made_with_command(changelog, 'trueup.order', came)
            )
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    The properties that say with what a changelog was made: the text itself, and its hash. Spark hides a property
    that looks like a URL or a secret, such as the key `url` or `token_id`. So runs compare the hash.
-#}
{% macro _made_with_properties(name, value) -%}
    {{ return({name: value, name ~ '_md5': local_md5(value)}) }}
{%- endmacro %}


{#- Whether a changelog was made with this value. A table of an earlier version has only the text. -#}
{% macro _is_made_with(properties, name, came) -%}
    {%- set hash = properties.get(name ~ '_md5') -%}
    {{ return(properties[name] == came if hash is none else hash == local_md5(came)) }}
{%- endmacro %}


{#- Raises if a changelog does not say with what it was made, or if Spark hides it. -#}
{% macro _require_made_with(changelog, properties, name, came) -%}
    {%- if '(redacted)' in properties.get(name ~ '_md5', properties.get(name, '')) -%}
        {%- do trueup._raise_error(
            'The table ' ~ changelog, 'one whose property `' ~ name ~ '` can be read',
            'a property that Spark hides (`spark.redaction.regex`)',
            'Nothing is written. If the configuration is as before, set the property with its hash: '
            ~ trueup._set_made_with_command(changelog, name, came) ~ ' If that does not help, let Spark show it.'
        ) -%}
    {%- endif -%}
    {%- if name not in properties -%}
        {%- do trueup._raise_error(
            'The table ' ~ changelog, 'one with the property `' ~ name ~ '`', 'a table without it',
            'Somebody has replaced this table. If it is an exact copy of the changelog, and the configuration is'
            ~ ' as before, set the property: ' ~ trueup._set_made_with_command(changelog, name, came)
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#- The command that says with what a changelog was made, for use in messages. -#}
{% macro _set_made_with_command(changelog, name, value) -%}
    {%- set properties = [] -%}
    {%- for each, text in trueup._made_with_properties(name, value).items() -%}
        {%- do properties.append(trueup._literal(each) ~ ' = ' ~ trueup._literal(text)) -%}
    {%- endfor -%}
    {{ return('alter table ' ~ changelog ~ ' set tblproperties (' ~ (properties | join(', ')) ~ ').') }}
{%- endmacro %}
