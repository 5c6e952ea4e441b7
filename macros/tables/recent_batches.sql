{#-
    Which progress rows a run reads: those of the recent batches. So a run reads as much after ten thousand
    batches as after ten. Iceberg answers from its metadata how many batches there are. It also knows which
    batches each file has, so most files are never opened.
-#}

{#-
    The last batch of a changelog or a state and the number of its progress rows, as a dict of `last_seq` and
    `batch_count`. Without a progress row `last_seq` is none.
-#}
{% macro _get_batch_count(table) -%}
    {%- set query -%}
select max(_seq) as last_seq, count(*) as batch_count
from {{ table }}
where _kind = 'progress'
    {%- endset -%}
    {{ return(run_query(query).rows[0].dict()) }}
{%- endmacro %}


{#- The last batch that a state has applied; 0 if it has no progress row. -#}
{% macro _get_applied_seq(state) -%}
    {{ return(trueup._get_batch_count(state).last_seq or 0) }}
{%- endmacro %}


{#- The last batch of a changelog or a state, as a subquery; null without a progress row. -#}
{% macro _last_seq_expr(table) -%}
(select max(_seq) from {{ table }} where _kind = 'progress')
{%- endmacro %}


{#-
    The number of the first recent batch: the last batch but one, and at least 1. The state of a sound collection is
    never further behind. If the changelog has lost or doubled a progress row, it is 1: the reader of all
    progress rows then names the batch.
-#}
{% macro _get_recent_seq(changelog) -%}
    {%- set found = trueup._get_batch_count(changelog) -%}
    {{ return(
        found.last_seq - 1 if found.last_seq == found.batch_count and found.batch_count > 2 else 1
    ) }}
{%- endmacro %}


{#-
    A condition on `_seq` that lets only the recent batches through. A state that has applied no batch has a
    progress row with `_seq` 0.
-#}
{% macro _is_recent_expr(recent_seq) -%}
    {{ return('_seq >= ' ~ recent_seq if recent_seq > 1 else 'true') }}
{%- endmacro %}


{#-
    True if the progress rows of the recent batches do not say where a table stands. `seqs` are the last
    batches of the tables that these rows name, none for a table without such a row.
-#}
{% macro _must_read_all_batches(recent_seq, seqs) -%}
    {%- set unknown = [] -%}
    {%- for seq in seqs if seq is none or seq < recent_seq -%}
        {%- do unknown.append(seq) -%}
    {%- endfor -%}
    {{ return(recent_seq > 1 and unknown | length > 0) }}
{%- endmacro %}
