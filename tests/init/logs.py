"""Samples of logs as projects have them."""

from __future__ import annotations

import json
import re
from typing import Any

from dbt_trueup.init.log import Log, read_log

LOST = "__debezium_unavailable_value"


def table(name: str, schema: str, *rows: tuple[Any, ...]) -> Log:
    """A log with the columns of a schema, such as `id bigint, status string`."""
    columns = re.split(r", (?![^<]*>)", schema)
    types = dict(column.strip().split(" ", 1) for column in columns)
    return read_log(name, types, [dict(zip(types, row, strict=True)) for row in rows])


ORDERS = table(
    "orders_log",
    "commit_no bigint, change_no bigint, op string, order_id bigint, customer_id bigint,"
    " status string, arrived_at timestamp",
    (1, 1, "U", 1, 7, "placed", "2026-11-01 09:00:00"),
    (1, 2, "U", 2, 7, "placed", "2026-11-01 09:00:00"),
    (2, 3, "U", 1, 7, "paid", "2026-11-01 10:00:00"),
    (2, 3, "U", 1, 7, "paid", "2026-11-01 10:00:05"),
    (3, 4, "D", 2, None, None, "2026-11-01 11:00:00"),
)

INVOICES = table(
    "invoices_files",
    "Op string, changed_at timestamp, change_seq string, invoice_id bigint, customer string,"
    " total decimal(10,2)",
    (None, "2026-01-05 08:00:00", None, 1, "Ada", 10.0),
    (None, "2026-01-05 08:00:00", None, 2, "Bob", 20.0),
    ("U", "2026-01-05 09:30:00", "20260105093000000000000000000000011", 1, "Ada", 11.0),
    ("U", "2026-01-05 09:30:00", "20260105093000000000000000000000012", 1, "Ada", 12.0),
    ("I", "2026-01-05 09:31:00", "20260105093100000000000000000000013", 3, "Cid", 30.0),
    ("D", "2026-01-05 09:32:00", "20260105093200000000000000000000014", 2, "Bob", 20.0),
)

PRODUCTS = table(
    "products_changes",
    "product_id bigint, name string, price decimal(10,2), is_deleted boolean, updated_at timestamp",
    (1, "lamp", 20.0, False, "2026-01-05 08:00:00"),
    (2, "chair", 80.0, False, "2026-01-05 08:00:01"),
    (1, "lamp", 18.0, False, "2026-01-05 09:00:00"),
    (1, "lamp", 18.0, False, "2026-01-05 09:00:00"),
    (2, "chair", 80.0, True, "2026-01-05 09:30:00"),
)

SUPPLIERS = table(
    "suppliers_extracts",
    "extracted_on date, supplier_id bigint, name string, city string",
    ("2026-01-05", 1, "Acme", "Ulm"),
    ("2026-01-05", 2, "Bolt", "Bonn"),
    ("2026-01-06", 1, "Acme", "Ulm"),
    ("2026-01-06", 3, "Cord", "Kiel"),
    ("2026-01-07", 1, "Acme", "Jena"),
    ("2026-01-07", 2, "Bolt", "Bonn"),
)


def event(after: Any, before: Any = None, table: str = "customers", lsn: int = 100) -> str:
    """A message of Debezium."""
    op = "d" if after is None else "u" if before else "c"
    source = {"ts_ms": lsn, "lsn": lsn, "schema": "public", "table": table}
    return json.dumps({"before": before, "after": after, "op": op, "source": source})


TOPIC = "key string, value string, partition int, offset bigint"
CUSTOMERS = table(
    "customers_topic",
    TOPIC,
    ('{"id": 1}', event({"id": 1, "name": "Ada", "notes": "a long text"}, lsn=100), 0, 0),
    ('{"id": 2}', event({"id": 2, "name": "Bob", "notes": None}, lsn=200), 0, 1),
    ('{"id": 1}', event({"id": 1, "name": "Ada L.", "notes": LOST}, {"id": 1}, lsn=300), 0, 2),
    ('{"id": 2}', event(None, {"id": 2, "name": None, "notes": None}, lsn=400), 0, 3),
    ('{"id": 2}', None, 0, 4),
)


def change(action: str, table: str = "parcels", second: int = 0, **others: Any) -> str:
    """A message of wal2json."""
    stamp = {"timestamp": f"2026-01-05 10:00:0{second}.000001+00", "lsn": f"0/16B374{second}"}
    return json.dumps({"action": action, **stamp, "schema": "public", "table": table, **others})


def fields(**values: Any) -> list[dict[str, Any]]:
    """Columns of a message of wal2json."""
    types = {"id": "bigint", "weight": "numeric(6,2)", "sent": "timestamp with time zone"}
    return [
        {"name": name, "type": types.get(name, "text"), "value": value}
        for name, value in values.items()
    ]


PARCELS = table(
    "slot",
    "data string",
    ('{"action":"B"}',),
    (change("I", columns=fields(id=1, state="packed", weight=1.5, sent=None)),),
    ('{"action":"C"}',),
    (change("U", second=1, columns=fields(id=9, state="sent"), identity=fields(id=1)),),
    (change("D", second=2, identity=fields(id=9)),),
)
