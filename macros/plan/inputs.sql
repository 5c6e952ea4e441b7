{#-
    The collections that a collection by a select reads (option `of`), in the schema where the select reads
    them.
-#}

{#-
    The state of an input. With `--defer` the select may read the input in another schema: then its upper is
    read there, too. Raises if the select reads the input in both schemas.
-#}
{% macro _get_input_state(collection) -%}
    {%- set input, state = trueup._model_id(collection), trueup._model_id(collection ~ '_state') -%}
    {%- set paths = [] -%}
    {%- do trueup._get_reads(trueup._model_id(model.name), input, false, paths) -%}
    {%- set places = [] -%}
    {%- for node_id, is_deferred in paths if trueup._is_node_of(node_id, input) -%}
        {%- do places.append(is_deferred) -%}
    {%- endfor -%}
    {%- if true in places and false in places -%}
        {%- do trueup._raise_error(
            'The collection `' ~ collection ~ '` in option `of` of ' ~ model.name,
            'read in one schema', 'one read of it here, and one in another schema, by --defer',
            'Run all that the select reads: dbt run -s +' ~ model.name
        ) -%}
    {%- elif true in places or not places and trueup._get_is_deferred(state) -%}
        {{ return(trueup._relation_of_node(graph.nodes[state].defer_relation)) }}
    {%- endif -%}
    {{ return(trueup._sibling(collection, 'state')) }}
{%- endmacro %}


{#-
    Adds to `paths` the nodes that a node reads, up to `input`, each with a flag: is it read in another
    schema? All that a deferred node reads is in the other schema, too.
-#}
{% macro _get_reads(node_id, input, is_deferred, paths) -%}
    {%- for parent in graph.nodes.get(node_id, {}).get('depends_on', {}).get('nodes', []) -%}
        {%- set path = (parent, is_deferred or trueup._get_is_deferred(parent)) -%}
        {%- if path not in paths -%}
            {%- do paths.append(path) -%}
            {%- if not trueup._is_node_of(parent, input) -%}
                {%- do trueup._get_reads(parent, input, path[1], paths) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- Whether a node is a model of a collection. `input` is the id of the collection's view. -#}
{% macro _is_node_of(node_id, input) -%}
    {%- set roles = ['changelog', 'state', 'errors', 'live'] -%}
    {%- set name, _, role = node_id.rpartition('_') -%}
    {{ return(node_id == input or name == input and role in roles) }}
{%- endmacro %}
