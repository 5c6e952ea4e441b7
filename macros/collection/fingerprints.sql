{#- By what a run knows that a model is not the one by which the store was written: fingerprints of its code and its orders. -#}

{#- The key and value columns with their types, as a list of texts. -#}
{% macro _column_note(collection) -%}
    {%- set note = [] -%}
    {%- for column in collection.columns -%}
        {%- do note.append(column.name ~ ' ' ~ collection.texts.get(column.name | lower, column.type)) -%}
    {%- endfor -%}
    {{ return(note) }}
{%- endmacro %}


{#- What makes the order and the identity of a key, as a list of texts: the key, the SQL of `_order`, and `truncate_scope`. -#}
{% macro _order_of(collection, query) -%}
    {%- set found = modules.re.search("(?s)named_struct\\(\\s*'_epoch', 0,(.*?)\\) as _order,", query) -%}
    {%- set scope = collection.options.truncate_scope -%}
    {{ return(
        collection.key + [modules.re.sub('\\s+', ' ', found.group(1)) | trim if found else '']
        + (['truncate_scope: ' ~ (scope | join(', '))] if scope else [])
    ) }}
{%- endmacro %}


{#- Raises if the store has orders of another meaning, or rows of another key. -#}
{% macro _require_same_order_as_before(collection, newest, order) -%}
    {%- if newest.get('order', order) != order -%}
        {%- do trueup._raise_error(
            'The order of ' ~ collection.name, 'the one that its store has: ' ~ (newest.order | join(', ')),
            order | join(', '),
            'Nothing is written. Put `unique_key`, `sequence_by` and `truncate_scope` back. To begin again from the log, without the history:'
            ~ ' dbt run --full-refresh -s ' ~ collection.name ~ " --vars '{trueup_rebase: true}'."
        ) -%}
    {%- endif -%}
{%- endmacro %}


{#-
    A fingerprint of all that decides how a command is read: the SQL of the model and of the models that it reads, its columns
    and its options.
-#}
{% macro _code_of(collection, query) -%}
    {{ return(local_md5(tojson([
        modules.re.sub('\\s+', ' ', query) | trim, collection.key, trueup._column_note(collection), collection.given_types,
        collection.options.ties, trueup._upstream_checksums(model, {}).values() | list | sort,
    ]))) }}
{%- endmacro %}


{#- A fingerprint of all that a model says, options and descriptions too, known before a run asks for its columns. -#}
{% macro _text_of(query) -%}
    {{ return(local_md5(tojson([
        query, config.get('unique_key'), config.get('meta'), trueup._upstream_checksums(model, {}).values() | list | sort,
        [model.description, model.columns] if config.get('persist_docs') else none,
    ]))) }}
{%- endmacro %}


{#-
    The checksums of the models before a model, by their id. `found` collects them. Another collection is a table like that of a
    source: its rows change for reasons of its own.
-#}
{% macro _upstream_checksums(node, found) -%}
    {%- for id in node.depends_on.nodes if id in graph.nodes and id not in found
            and graph.nodes[id].config.materialized != 'trueup' -%}
        {%- do found.update({id: graph.nodes[id].checksum.checksum}) -%}
        {%- do trueup._upstream_checksums(graph.nodes[id], found) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}
