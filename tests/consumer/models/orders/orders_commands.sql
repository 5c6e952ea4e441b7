{{ trueup.commands(
    relation=ref('order_events'),
    ts='event_no',
    sequence_by=['event_no'],
    delete_when='is_deleted',
    columns=['status', 'select', 'tags']
) }}
