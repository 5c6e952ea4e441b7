{#-
    Somebody has deleted all rows of some keys from a store, and nothing else. A run cannot know whether that was an erasure or a
    mistake, so it stops. One of these operations decides; each is one commit.
-#}

{#-
    Brings the rows back from the snapshot of the newest batch.

    An operation: `dbt run-operation trueup.restore --args '{collection: orders}'`.
-#}
{% macro restore(collection) -%}
    {%- set found = trueup._get_store_without_keys('restore', collection) -%}
    {%- set newest = found.newest -%}
    {%- do run_query(trueup._restore_sql(found.collection, newest, {
        'good_rows': found.good_rows,
        'notes': trueup._get_repair_notes(found.collection, newest, found.properties, 'restored'),
    })) -%}
    {%- do trueup._require_written(found) -%}
    {%- do log('Restored ' ~ (found.forgotten | length) ~ ' keys of ' ~ found.collection.store ~ '.', info=true) -%}
{%- endmacro %}


{#-
    Accepts that the keys are erased. A later repair does not bring them back; see `trueup.erase`.

    An operation: `dbt run-operation trueup.accept --args '{collection: orders}'`.
-#}
{% macro accept(collection) -%}
    {%- set found = trueup._get_store_without_keys('accept', collection) -%}
    {%- do trueup._ensure_rewritten(found, {'removed': 'false', 'added': none}, 'erased', {'erased': found.forgotten}) -%}
    {%- do log('Accepted that ' ~ (found.forgotten | length) ~ ' keys of ' ~ found.collection.store ~ ' are erased.', info=true) -%}
{%- endmacro %}


{#- A store of which somebody has deleted whole keys, with `good_rows` and the hashes of the keys (`forgotten`). Raises for others. -#}
{% macro _get_store_without_keys(macro, name) -%}
    {%- set found = trueup._get_operated_store(macro, name) -%}
    {%- set good_rows = trueup._get_good_rows(found.collection, found.newest, found.properties) -%}
    {%- set damage = trueup._get_damage(found.collection, good_rows, found.newest) if good_rows else {'history': true} -%}
    {%- set forgotten = [] if damage.history or damage.buckets else trueup._get_forgotten_keys(found.collection, good_rows) -%}
    {%- if not forgotten -%}
        {%- do trueup._raise_error(
            'The store ' ~ found.collection.store, 'one from which somebody has deleted whole keys, and nothing else',
            'a store without such a change, or without the snapshot of batch ' ~ found.newest.seq,
            'Nothing is done. A run finds and repairs every other damage: dbt run -s ' ~ name ~ '.'
        ) -%}
    {%- endif -%}
    {{ return(dict(found, good_rows=good_rows, forgotten=forgotten)) }}
{%- endmacro %}
