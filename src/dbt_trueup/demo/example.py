"""The log, the statement that most people write, and the model of trueup."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """A line of the log."""

    line: int
    delivery: int
    """In which of the three deliveries it arrives."""
    position: int
    """Its place in the source: the newest change has the greatest one."""
    op: str
    """`U` sets the row, `D` deletes it."""
    order_id: int
    status: str | None = None
    amount: int | None = None


LINES = (
    Line(1, 1, 10, "U", 1, "placed", 20),
    Line(2, 1, 10, "U", 1, "placed", 20),
    Line(3, 1, 11, "U", 2, "placed", 35),
    Line(4, 2, 30, "U", 1, "sent", 20),
    Line(5, 2, 31, "D", 2),
    Line(6, 2, 32, "U", 3, "paid", 50),
    Line(7, 3, 33, "U", 4, "placed", None),
    Line(8, 3, 20, "U", 1, "paid", 20),
    Line(9, 3, 11, "U", 2, "placed", 35),
    Line(10, 3, 32, "U", 3, "cancelled", 50),
)

COLUMNS = (
    "line int, delivery int, position bigint, op string, order_id int, status string, amount int"
)

LOG = "shop.orders_log"

MERGED = "shop.orders_by_merge"

MERGED_COLUMNS = "order_id int, status string, amount int, line int"

MERGE = f"""\
merge into {MERGED} as orders
using (
    -- the newest line of each order in this delivery
    select * except (newest)
    from (
        select *, row_number() over (partition by order_id order by position desc, line desc) as newest
        from {LOG}
        where delivery = {{delivery}}
    )
    where newest = 1
) as new
on orders.order_id = new.order_id
when matched and new.op = 'D' then delete
when matched then update set status = new.status, amount = new.amount, line = new.line
when not matched and new.op <> 'D' then
    insert (order_id, status, amount, line) values (new.order_id, new.status, new.amount, new.line)
"""  # noqa: E501, S608 - people read it; the names are ours

MODEL = f"""\
{{{{ config(materialized='trueup', unique_key='order_id') }}}}

{{{{ trueup.commands(
    relation='{LOG}',
    sequence_by=['position'],
    delete_when="op = 'D'",
    error="if(op = 'U' and amount is null, 'the amount is missing', null)",
    columns=['status', 'amount']
) }}}}
"""
