{#- Marks of the code that has made the rows of a collection. -#}

{#- A hash of the code that defines the rows: the text of that model, and the options that affect it. -#}
{% macro _definition(collection, options) -%}
    {%- set name = collection ~ '_' ~ trueup._source_role(collection) -%}
    {%- set text = graph.nodes[trueup._model_id(name)].raw_code ~ options.null_keys ~ options.ties -%}
    {#- With `late: correct`, these options change settled rows, too. -#}
    {%- set text = text ~ tojson([options.late, options.as_of, options.log]) if options.get('late') == 'correct'
        else text -%}
    {{ return(local_md5(text)) }}
{%- endmacro %}


{#- The definition of a batch that has adopted a table: no model defines its rows. -#}
{% macro _adopted_definition() -%}
    {{ return('adopted') }}
{%- endmacro %}
