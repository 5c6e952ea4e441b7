{#-
    The numbers of the steps of a key, by name. They are in sequence: the fold goes from the least to the greatest.
    Those below 0 only exist with `late: newest`, those from 3 on only in a small batch:

    `order_of_key`      the order row that a key gets if it has a row or an error, but had no order row
    `superseded`        a command of a log without ticks that is superseded, without a value
    `old_order`         the order row that the key had; it is retracted
    `new_order`         the order row that the key gets
    `prior`             the persisted value, without a `_ts`
    `correction`        a correction, or a late command that is taken; at the lower
    `command`           a command
    `applied_note`      a note: a batch that the state has applied; `_ts` is its number
    `certificate_note`  a note: an entry of the certificate of the batch before, `_certificate_entry`; `_ts` is its
                        bucket
    `progress_note`     a note: the progress row that this batch gets; `_step_plan` is the plan
-#}
{% macro _step_numbers() -%}
    {{ return({
        'order_of_key': -4, 'superseded': -3, 'old_order': -2, 'new_order': -1, 'prior': 0, 'correction': 1,
        'command': 2, 'applied_note': 3, 'certificate_note': 4, 'progress_note': 5
    }) }}
{%- endmacro %}
