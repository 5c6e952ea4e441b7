{{ config(materialized='table', file_format='iceberg') }}

select
    customer,
    `order no`,
    status,
    named_struct('city', city, 'zip', zip) as `select`,
    array(city, status) as tags,
    event_no,
    is_deleted
from values
    ('ada', 1, 'open', 'Berlin', 10115, 1, false),
    ('ada', 1, 'paid', 'Berlin', 10115, 2, false),
    ('ada', 2, 'open', 'Berlin', 10115, 3, false),
    (null, 1, 'open', null, null, 4, false),
    ('bob', 1, 'open', 'Bonn', 53111, 5, false),
    ('bob', 1, null, null, null, 6, true),
    ('eve', 1, 'open', 'Essen', 45127, 7, false),
    ('eve', 1, 'paid', 'Essen', 45127, 7, false)
    as events (customer, `order no`, status, city, zip, event_no, is_deleted)
