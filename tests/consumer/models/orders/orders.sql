{{ config(materialized='trueup', schema='published', alias='orders_now') }}

{{ trueup.commands(
    relation=ref('order_events'),
    sequence_by=['event_no'],
    delete_when='is_deleted',
    columns=['status', 'select', 'tags']
) }}
