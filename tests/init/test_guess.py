"""From columns and a sample to the right arguments, each with a reason."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from dbt_trueup.errors import UsageError
from dbt_trueup.init.columns import typed_columns
from dbt_trueup.init.files import write_model
from dbt_trueup.init.guess import guess, read_answer
from dbt_trueup.init.log import Log, read_log
from dbt_trueup.init.types import connect_type
from dbt_trueup.init.words import collection_name
from tests.init.logs import (
    CUSTOMERS,
    INVOICES,
    LOST,
    ORDERS,
    PARCELS,
    PRODUCTS,
    SUPPLIERS,
    TOPIC,
    change,
    event,
    fields,
    table,
)

GUESSED: list[tuple[Log, dict[str, Any]]] = [
    (
        ORDERS,
        {
            "envelope": "plain",
            "key": ["order_id"],
            "place": None,
            "sequence_by": ["change_no"],
            "delete_when": "op = 'D'",
            "skip_when": None,
            "truncate_when": None,
            "columns": {"customer_id": "bigint", "status": "string"},
        },
    ),
    (
        INVOICES,
        {
            "envelope": "plain",
            "key": ["invoice_id"],
            "sequence_by": ["changed_at", "change_seq"],
            "delete_when": "Op = 'D'",
            "columns": {
                "changed_at": "timestamp",
                "customer": "string",
                "total": "decimal(10,2)",
            },
        },
    ),
    (
        PRODUCTS,
        {
            "envelope": "plain",
            "key": ["product_id"],
            "sequence_by": ["updated_at"],
            "delete_when": "is_deleted",
            "columns": {"name": "string", "price": "decimal(10,2)", "updated_at": "timestamp"},
        },
    ),
    (
        SUPPLIERS,
        {
            "envelope": "snapshots",
            "key": ["supplier_id"],
            "extract": "extracted_on",
            "sequence_by": ["snapshot_ts", "not is_absent"],
            "delete_when": "is_absent",
            "columns": {"name": "string", "city": "string"},
        },
    ),
    (
        CUSTOMERS,
        {
            "envelope": "debezium",
            "value": "value",
            "message_key": "key",
            "table": None,
            "key": ["id"],
            "place": ["partition", "offset"],
            "sequence_by": None,
            "columns": {"name": "string", "notes": "string"},
        },
    ),
    (
        PARCELS,
        {
            "envelope": "wal2json",
            "value": "data",
            "table": "public.parcels",
            "key": ["id"],
            "sequence_by": None,
            "columns": {"state": "string", "weight": "decimal(6,2)", "sent": "timestamp"},
        },
    ),
]


def guesses(log: Log, **answers: Any) -> dict[str, Any]:
    facts = guess(log, collection_name(log.name), answers)
    assert all(one.why for one in facts.guesses.values())
    return {field: one.value for field, one in facts.guesses.items()}


def unsure(log: Log, **answers: Any) -> dict[str, tuple[str, ...]]:
    facts = guess(log, collection_name(log.name), answers)
    return {one.field: one.candidates for one in facts.unsure}


def warnings(log: Log, **answers: Any) -> list[str]:
    facts = guess(log, collection_name(log.name), answers)
    return [warning for one in facts.guesses.values() for warning in one.warnings]


@pytest.mark.parametrize(("log", "expected"), GUESSED, ids=[log.name for log, _ in GUESSED])
def test_a_usual_log_is_guessed_whole(log: Log, expected: dict[str, Any]) -> None:
    assert guesses(log) | expected == guesses(log)
    assert unsure(log) == {}
    assert warnings(log) == []


@pytest.mark.parametrize(
    ("table_name", "name"),
    [
        ("orders_log", "orders"),
        ("raw_orders", "orders"),
        ("Orders", "orders"),
        ("suppliers_extracts", "suppliers"),
        ("dbserver1.inventory.orders", "dbserver1_inventory_orders"),
        ("log", "log"),
    ],
)
def test_the_name_of_the_collection_is_that_of_the_log(table_name: str, name: str) -> None:
    assert collection_name(table_name) == name


def test_a_reason_has_figures() -> None:
    facts = guess(CUSTOMERS, "customers", {})
    assert facts.guesses["key"].why == (
        "4 of 4 sampled rows have it, 2 distinct values; 4 messages name it"
    )


# The envelope of a table without messages.


def envelope(log: Log) -> tuple[str, bool, tuple[str, ...]]:
    """The guess, whether it is sure, and its candidates."""
    made = guess(log, collection_name(log.name), {}).guesses["envelope"]
    return made.value, made.is_sure, made.candidates


def against(log: Log) -> str:
    """What speaks against full extracts."""
    return guess(log, collection_name(log.name), {}).guesses["envelope"].why


def test_an_incremental_load_is_not_surely_a_log_of_full_extracts() -> None:
    airbyte = table(
        "orders",
        "order_id int, status string, updated_at timestamp, _airbyte_extracted_at timestamp",
        (1, "new", "2026-01-05 07:00:00", "2026-01-05 08:00:00"),
        (2, "new", "2026-01-05 07:10:00", "2026-01-05 08:00:00"),
        (3, "new", "2026-01-05 07:20:00", "2026-01-05 08:00:00"),
        (2, "paid", "2026-01-06 07:10:00", "2026-01-06 08:00:00"),
    )
    assert envelope(airbyte) == ("plain", False, ("plain", "snapshots"))
    assert "`updated_at` is about a single change" in against(airbyte)
    assert "`_airbyte_extracted_at` may only say when a row arrived" in against(airbyte)
    assert "an extract has only 33% of the keys (order_id) of the one before" in against(airbyte)
    partitioned = table(
        "orders",
        "order_id int, status string, updated_at timestamp, dt string",
        (1, "new", "2026-01-05 07:00:00", "2026-01-05"),
        (2, "new", "2026-01-05 07:10:00", "2026-01-05"),
        (3, "new", "2026-01-06 07:20:00", "2026-01-06"),
    )
    assert envelope(partitioned) == ("plain", False, ("plain", "snapshots"))
    assert "only 0% of the keys (order_id)" in against(partitioned)


def test_new_rows_of_each_day_are_not_surely_full_extracts() -> None:
    log = table(
        "payments",
        "payment_id int, amount int, dt date",
        (1, 10, "2026-01-05"),
        (2, 20, "2026-01-05"),
        (3, 30, "2026-01-06"),
        (4, 40, "2026-01-06"),
    )
    assert envelope(log) == ("plain", False, ("plain", "snapshots"))


def test_one_bad_pair_of_extracts_is_enough_to_ask() -> None:
    first = [(key, "2026-01-05") for key in range(10)]
    log = table(
        "payments", "payment_id int, dt date",
        *first, *((key, "2026-01-06") for key, _ in first), (1, "2026-01-07"),
    )  # fmt: skip
    assert envelope(log)[:2] == ("plain", False)


def test_one_extract_is_not_sure() -> None:
    rows = [("2026-01-05", 1, "Acme"), ("2026-01-05", 2, "Bolt")]
    log = table("suppliers", "extracted_on date, supplier_id int, name string", *rows)
    assert envelope(log) == ("snapshots", False, ("snapshots", "plain"))
    assert "the sample has only one extract" in against(log)


def test_full_extracts_of_a_table_with_its_own_time_of_change_are_not_sure() -> None:
    log = table(
        "suppliers",
        "extracted_on date, supplier_id int, updated_at timestamp, name string",
        ("2026-01-05", 1, "2026-01-01 08:00:00", "Acme"),
        ("2026-01-06", 1, "2026-01-01 08:00:00", "Acme"),
    )
    assert envelope(log) == ("plain", False, ("plain", "snapshots"))
    assert "`updated_at` is about a single change" in against(log)


@pytest.mark.parametrize("column", ["commit_no", "lsn", "kafka_offset"])
def test_a_column_about_a_single_change_speaks_against_full_extracts(column: str) -> None:
    rows = [("2026-01-05", 1, 5), ("2026-01-06", 1, 6)]
    log = table("suppliers", f"dt date, supplier_id int, {column} bigint", *rows)
    assert not envelope(log)[1]
    assert f"`{column}` is about a single change" in against(log)


def test_extracts_without_a_key_are_not_sure() -> None:
    log = table(
        "visits",
        "dt date, shop_id int, hours int",
        ("2026-01-05", 1, 5),
        ("2026-01-05", 1, 6),
        ("2026-01-06", 1, 5),
    )
    assert envelope(log) == ("snapshots", False, ("snapshots", "plain"))
    assert "no columns are a key of each extract" in against(log)


def test_the_time_of_arrival_is_never_surely_the_extract() -> None:
    log = table(
        "suppliers",
        "supplier_id int, name string, _airbyte_extracted_at timestamp",
        (1, "Acme", "2026-01-05 08:00:00"),
        (1, "Acme", "2026-01-06 08:00:00"),
    )
    assert envelope(log) == ("plain", False, ("plain", "snapshots"))
    assert unsure(log, envelope="snapshots") == {"extract": ("_airbyte_extracted_at",)}
    both = table(
        "suppliers",
        "supplier_id int, _sdc_extracted_at timestamp, dt date, name string",
        (1, "2026-01-05 08:00:00", "2026-01-05", "Acme"),
        (1, "2026-01-06 08:00:00", "2026-01-06", "Acme"),
    )
    assert envelope(both) == ("snapshots", True, ())
    assert guesses(both)["extract"] == "dt"
    assert unsure(both) == {}


# The key.

STOCK = ((1, 1), (1, 2), (2, 1))
"""Shops, and the items that they have."""


def test_the_key_with_the_name_of_the_collection_is_better_than_other_ids() -> None:
    log = table("orders", "customer_id bigint, order_id bigint, ts bigint, x int", (7, 1, 1, 0))
    assert guesses(log)["key"] == ["order_id"]
    assert unsure(log) == {}


def test_two_ids_are_not_sure() -> None:
    log = table("visits", "customer_id bigint, shop_id bigint, ts bigint, x int", (7, 1, 1, 0))
    assert unsure(log) == {"key": ("customer_id", "shop_id")}
    assert unsure(log, key=["shop_id"]) == {}
    assert guesses(log, key=["shop_id"])["columns"] == {"customer_id": "bigint", "x": "int"}


def test_the_id_of_another_thing_is_never_surely_the_key() -> None:
    log = table(
        "order_items",
        "order_id int, sku string, qty int, updated_at timestamp",
        (1, "lamp", 1, "2026-01-05 08:00:00"),
        (2, "lamp", 2, "2026-01-05 09:00:00"),
    )
    assert guesses(log)["key"] == ["order_id"]
    assert unsure(log) == {"key": ("order_id",)}
    assert guess(log, "order_items", {}).guesses["key"].why == (
        "2 of 2 sampled rows have it, 2 distinct values; order_id may be the id of another thing"
    )
    assert unsure(log, key=["order_id", "sku"]) == {}


TICKETS = "tenant string, ticket_no bigint, title string, op string, lsn bigint, arrived_at bigint"


SHARDS = (("a", 1, 1), ("b", 1, 1), ("a", 1, 2), ("b", 2, 2), ("b", 1, 3), ("a", 2, 3))


@pytest.mark.parametrize(
    "column", ["shard", "__db", "source_server_id", "region", "store_id", "zz", "_cdc.source_db"]
)
@pytest.mark.parametrize("order", ["lsn", "change_seq"])
def test_rows_of_several_sources_in_one_table_are_asked_about(column: str, order: str) -> None:
    """Keys of two shards meet, and their orders do not compare."""
    top, _, inner = column.partition(".")
    kind = f"struct<{inner}:string>" if inner else "string"
    rows = [
        ({inner: shard} if inner else shard, key, order, f"{shard}{order}")
        for shard, key, order in SHARDS
    ]
    log = table("orders", f"{top} {kind}, id bigint, {order} bigint, status string", *rows)
    facts = guess(log, "orders", {})
    made = facts.guesses["key"]
    assert (made.value, made.is_sure) == (["id"], False)
    assert made.candidates[:2] == ("id", f"id,{column}")
    assert f"`{column}` is a, b: if these are several sources" in made.why
    assert f"--skip-when \"not {column} <=> 'a'\"" in made.why
    answered = guess(log, "orders", {"key": ["id", column]})
    assert answered.unsure == []
    assert answered["key"] == ["id", column]
    # A log of one of them has nothing to ask about.
    one = table(log.name, f"{top} {kind}, id bigint, {order} bigint, status string", *rows[::5])
    assert unsure(one) == {}


def test_a_value_that_sounds_like_a_source_is_one() -> None:
    """A region is asked about only if keys meet; a shard only if other shards give the same ids."""
    rows = [("eu", 1, 10, "new"), ("us", 2, 20, "new"), ("eu", 1, 30, "paid"), ("us", 2, 40, "x")]
    schema = "{} string, id {}, lsn bigint, status string"
    assert unsure(table("orders", schema.format("region", "bigint"), *rows)) == {}
    assert list(unsure(table("orders", schema.format("shard", "bigint"), *rows))) == ["key"]
    assert unsure(table("orders", schema.format("server_id", "bigint"), *rows)) == {}
    assert list(unsure(table("orders", schema.format("__server_id", "bigint"), *rows))) == ["key"]
    ids = "9b2e7c1a-7c1d-4a51-8f0e-00000000000{}"
    unique = [(one, ids.format(key), lsn, status) for one, key, lsn, status in rows]
    assert unsure(table("orders", schema.format("shard", "string"), *unique)) == {}
    # The status of a key changes, too, but it does not number the rows.
    moved = [("a", 1, 1, 0), ("b", 1, 2, 0), ("a", 2, 2, 0), ("b", 2, 3, 0)]
    assert unsure(table("orders", "state string, id int, version int, x int", *moved)) == {}
    # All rows of a snapshot have the server 0.
    servers = [(0, 1, 1, 0), (5, 1, 2, 0), (5, 1, 3, 1)]
    assert unsure(table("orders", "server_id int, id int, lsn int, x int", *servers)) == {}


def test_an_id_that_no_row_repeats_may_be_that_of_the_change() -> None:
    schema = "id string, data struct<object:struct<id:string>>, lsn int, x int"
    rows = [(f"e{one}", {"object": {"id": "c1"}}, one, one) for one in range(3)]
    made = guess(table("orders", schema, *rows), "orders", {}).guesses["key"]
    assert (made.is_sure, made.candidates) == (False, ("id", "data.object.id"))
    assert "it may be of the change, and data.object.id of the row" in made.why
    nested = "id string, event struct<op:string,old:struct<id:int>,new:struct<id:int>>, lsn int"
    log = table("orders", nested, ("a", {"new": {"id": 1}}, 1), ("b", {"op": "DELETE"}, 2))
    made = guess(log, "orders", {}).guesses["key"]
    assert (made.is_sure, made.candidates) == (False, ("id", "event.old.id", "event.new.id"))
    schema = "id int, order_id int, action string, lsn int"
    audit = [(1, 5, "INSERT", 1), (2, 5, "UPDATE", 2), (3, 6, "INSERT", 3), (4, 5, "DELETE", 4)]
    assert "key" in unsure(table("audit", schema, *audit))
    # The customer of an order repeats, too; but it is inserted more than once.
    own = [(1, 5, "INSERT", 1), (2, 5, "INSERT", 2), (3, 5, "UPDATE", 3)]
    schema = schema.replace("order_id", "customer_id")
    assert unsure(table("orders", schema, *own)) == {}


@pytest.mark.parametrize(("insert", "update"), [("insert", "update"), ("I", "U"), ("c", "u")])
def test_a_key_that_is_inserted_again_while_it_exists_lacks_a_column(
    insert: str, update: str
) -> None:
    log = table(
        "tickets_log",
        TICKETS,
        ("a", 1, "broken", insert, 1, 1),
        ("b", 1, "lost", insert, 2, 1),
        ("a", 1, "mended", update, 3, 1),
        ("b", 2, "late", insert, 4, 1),
    )
    made = guess(log, "tickets", {}).guesses["key"]
    assert made.value == ["ticket_no"]
    assert not made.is_sure
    assert made.candidates == ("ticket_no", "ticket_no,tenant")
    assert "; 1 key is inserted again without a delete, so a column may be missing" in made.why
    assert unsure(log, key=["tenant", "ticket_no"]) == {}


def test_a_null_in_a_key_of_several_columns_names_its_column() -> None:
    log = table("tickets_log", TICKETS, (None, 1, "broken", "insert", 1, 1))
    (warning,) = warnings(log, key=["tenant", "ticket_no"])
    assert warning.startswith("tenant is null in 1 of 1 sampled row: in a key of several columns")


def test_inserts_after_a_delete_and_duplicates_of_inserts_are_no_doubt() -> None:
    log = table(
        "tickets_log",
        TICKETS,
        ("a", 1, "broken", "insert", 1, 1),
        ("a", 1, "broken", "insert", 1, 2),
        ("a", 1, None, "delete", 2, 1),
        ("a", 1, "broken again", "insert", 3, 1),
        ("a", 1, "mended", "update", 4, 1),
    )
    assert unsure(log) == {}


def test_inserts_say_nothing_in_a_log_without_updates_or_with_truncates() -> None:
    tickets = TICKETS.replace("tenant", "desk")
    inserts = [("a", 1, "broken", "insert", 1, 1), ("b", 1, "lost", "insert", 2, 1)]
    for other in ("delete", "truncate", "upsert"):
        log = table("tickets_log", tickets, *inserts, ("c", 2, "late", other, 3, 1))
        assert "key" not in unsure(log)
    updated = ("c", 2, "late", "update", 3, 1)
    truncated = ("c", 2, "late", "truncate", 4, 1)
    assert "key" not in unsure(table("tickets_log", tickets, *inserts, updated, truncated))
    assert "key" in unsure(table("tickets_log", tickets, *inserts, updated))


def test_pos_is_the_position_of_a_change_in_a_log_of_golden_gate_alone() -> None:
    schema = (
        "OP_TYPE string, OP_TS timestamp, CURRENT_TS timestamp, POS string, ORDER_ID int, X int"
    )
    at, pos = "2026-01-05 10:00:00Z", "0000000002000000{}"
    rows = [("I", at, at, pos.format(1234), 1, 5), ("U", at, at, pos.format(1300), 1, 6)]
    found = guesses(table("orders", schema, *rows))
    assert (found["key"], found["sequence_by"]) == (["ORDER_ID"], ["POS"])
    assert found["columns"] == {"X": "int"}
    for names in (schema, schema.lower()):
        assert unsure(table("orders", names, *rows)) == {}
    # The second line of an order.
    lines = table("orders", "order_id int, pos int, ts int, x int", (1, 1, 1, 1), (1, 2, 1, 2))
    assert "pos" in guesses(lines)["columns"]


def test_an_id_of_the_thing_itself_is_sure() -> None:
    for column in ("id", "order_item_id", "order_items_key"):
        log = table("order_items", f"{column} int, order_id int, ts int", (1, 7, 1))
        assert guesses(log)["key"] == [column]
        assert unsure(log) == {}


def test_the_id_of_another_thing_is_never_surely_in_the_key_of_extracts() -> None:
    rows = [(day, *place, 5) for day in ("2026-01-05", "2026-01-06") for place in STOCK]
    schema = "snapshot_date date, shop_id int, item_id int, pieces int"
    log = table("stock_snapshots", schema, *rows)
    assert guesses(log)["key"] == ["shop_id", "item_id"]
    assert unsure(log) == {"key": ("shop_id,item_id", "shop_id", "item_id")}
    assert "shop_id, item_id may be the id of another thing" in (
        guess(log, "stock", {}).guesses["key"].why
    )


def test_a_log_of_lines_may_have_a_key_of_two_columns() -> None:
    log = table("order_lines", "order_id bigint, line_no int, ts bigint, x int", (7, 1, 1, 0))
    assert unsure(log) == {"key": ("order_id", "order_id,line_no")}


def test_a_log_without_any_id_asks_for_the_key() -> None:
    log = table("pages", "path string, size int, commit_no bigint, op string", ("a", 1, 1, "A"))
    assert unsure(log) == {"key": ("path", "size")}


def test_a_null_in_the_key_is_pointed_out_and_not_sure() -> None:
    log = table("orders", "order_id bigint, ts bigint, x int", (1, 1, 0), (None, 2, 0))
    assert list(unsure(log)) == ["key"]
    assert "order_id is null in 1 of 2 sampled rows" in warnings(log)[0]
    assert "order_id is null" in warnings(log, key=["order_id"])[0]


def test_the_key_of_extracts_is_unique_in_each_of_them() -> None:
    log = table(
        "stock_snapshots",
        "snapshot_date date, shop_id int, item_id int, pieces int",
        ("2026-01-05", 1, 1, 5),
        ("2026-01-05", 1, 2, 5),
        ("2026-01-05", 2, 1, 5),
        ("2026-01-06", 1, 1, 4),
        ("2026-01-06", 2, 1, 5),
    )
    assert guesses(log)["key"] == ["shop_id", "item_id"]


def test_an_answer_must_name_a_column() -> None:
    with pytest.raises(UsageError, match=r"--key must name columns of the log: .*; got order"):
        guess(ORDERS, "orders", {"key": ["order"]})
    with pytest.raises(UsageError, match="--columns must name columns of the log"):
        guess(ORDERS, "orders", {"columns": ["order"]})
    with pytest.raises(UsageError, match="--ts must be an integer or a time; got status"):
        guess(ORDERS, "orders", {"ts": "status"})


@pytest.mark.parametrize("field", ["key", "columns", "sequence_by"])
def test_a_collection_has_a_key_an_order_and_columns(field: str) -> None:
    for log in (ORDERS, SUPPLIERS):
        option = field.replace("_", "-")
        with pytest.raises(UsageError, match=f"--{option} must not be none, because every coll"):
            guess(log, "orders", {field: "none"})


def test_messages_have_an_order_of_their_own() -> None:
    assert guesses(PARCELS, sequence_by="none")["sequence_by"] is None


def test_a_tick_is_never_guessed() -> None:
    assert "ts" not in guesses(ORDERS)
    assert guesses(ORDERS, ts="commit_no")["ts"] == "commit_no"
    log = table("orders", "order_id int, at date, seq int, x int", (1, "2026-01-05", 1, 0))
    assert guesses(log, ts="at")["ts"] == "unix_date(at)"


@pytest.mark.parametrize("field", ["key", "place", "sequence_by", "columns"])
def test_a_list_of_an_answer_is_not_empty(field: str) -> None:
    for log in (ORDERS, CUSTOMERS):
        with pytest.raises(UsageError, match=r"--[a-z-]+ must have at least one item; got an empt"):
            guess(log, "orders", {field: read_answer(field, " , ")})


def test_an_answer_names_a_column_once_and_the_columns_are_more_than_the_key() -> None:
    for field, given in (("key", "order_id,order_id"), ("place", "commit_no,commit_no")):
        with pytest.raises(
            UsageError, match=f"--{field} must name each column once; got {given[:5]}"
        ):
            guess(ORDERS, "orders", {field: given.split(",")})
    message = "--columns must name a column that is not in the key; got order_id"
    with pytest.raises(UsageError, match=message):
        guess(ORDERS, "orders", {"columns": ["order_id"]})


@pytest.mark.parametrize(
    ("log", "answers", "cause"),
    [
        (CUSTOMERS, {"delete_when": "op = 'd'"}, "--delete-when has no effect with --envelope deb"),
        (SUPPLIERS, {"place": ["extracted_on"]}, "--place .* snapshots"),
        (ORDERS, {"extract": "commit_no"}, "--extract has no effect with --envelope plain"),
    ],
)
def test_an_answer_without_an_effect_is_refused(
    log: Log, answers: dict[str, Any], cause: str
) -> None:
    with pytest.raises(UsageError, match=f"{cause}.*: leave it out"):
        guess(log, collection_name(log.name), answers)


def test_an_answer_is_not_refused_before_the_envelope_and_the_table_are_known() -> None:
    empty = table("orders", "order_id int, commit_no int, x int")
    assert "envelope" in unsure(empty, extract="x")
    several = topic(event({"id": 1}, table="a"), event({"id": 2}, table="b"))
    assert list(unsure(several, key=["id"], delete_when="none")) == ["table"]


def test_a_table_without_messages_is_refused_with_the_tables_that_have_some() -> None:
    log = topic(event({"id": 1}, table="orders"), event({"id": 2}, table="items"))
    with pytest.raises(
        UsageError,
        match=r"--table must be a table of the log: public\.orders, public\.items;"
        r" got public\.orderz: no sampled change is of it",
    ):
        guess(log, "orders", {"table": "public.orderz"})


NESTED = "struct<oid: string>"
ODD_LOGS = {
    "of MongoDB": table("t", TOPIC, ('{"id": 1}', event('{"_id": 1}'), 0, 0)),
    "an outbox": table(
        "t", TOPIC, ('{"id": 1}', '{"op": "c", "after": {"id": 1}, "source": "pg"}', 0, 0)
    ),
    "an array after": table("t", TOPIC, ('{"id": 1}', event([1]), 0, 0)),
    "a struct as the key": table("t", f"_id {NESTED}, x int", ({"oid": "a"}, 1)),
    "an array as the key of extracts": table(
        "t", "extracted_on date, id array<int>", ("2026-01-05", [1]), ("2026-01-06", [1])
    ),
    "a struct as the operation": table("t", f"id int, Op {NESTED}", (1, {"oid": "a"})),
    "a struct as the partition": table(
        "t", f"id int, partition {NESTED}, offset bigint", (1, {"oid": "a"}, 0)
    ),
    "messages without a key": table(
        "t",
        "value struct<before:string, after:string, source:string, op:string>",
        ({"before": None, "after": {"x": 1}, "source": None, "op": "c"},),
    ),
    "messages of several tables": table(
        "t", "value string", (event({"id": 1}, table="a"),), (event({"id": 1}, table="b"),)
    ),
    "a deep text": table("t", "id int, data string", (1, "[" * 100_000)),
    "wal2json with other columns": table(
        "t", "data string", ('{"action": "I", "columns": "all", "identity": [7]}',)
    ),
}


@pytest.mark.parametrize("name", ODD_LOGS)
def test_an_odd_log_is_guessed_or_asked_about(name: str) -> None:
    facts = guess(ODD_LOGS[name], "orders", {})
    assert facts.guesses["envelope"]
    assert write_model(facts, "ref('t')").startswith("{{ config(materialized='trueup'")


# The order.


def test_a_position_is_a_better_order_than_a_time() -> None:
    log = table(
        "orders",
        "order_id int, updated_at timestamp, lsn bigint, commit_lsn bigint, x int",
        (1, "2026-01-05 08:00:00", 11, 10, 0),
    )
    assert guesses(log)["sequence_by"] == ["lsn"]
    assert guesses(log)["columns"] == {"updated_at": "timestamp", "x": "int"}


def test_numbers_that_begin_again_with_each_commit_sort_within_it() -> None:
    log = table(
        "orders",
        "order_id int, commit_no int, change_no int, x int",
        (1, 1, 2, 5),
        (1, 2, 1, 6),
    )
    assert guesses(log)["sequence_by"] == ["commit_no", "change_no"]
    assert unsure(log) == {}


@pytest.mark.parametrize(
    ("column", "order"),
    [
        ("seq", ["commit_no", "seq"]),
        ("row_sequence", ["commit_no", "row_sequence"]),
        ("lsn", ["lsn"]),
        ("source_offset", ["source_offset"]),
        ("change_no", ["change_no"]),
        ("changeSeq", ["changeSeq"]),
        ("event_id", ["commit_no"]),
        ("utc_offset", ["commit_no"]),
        ("txid", ["commit_no"]),
    ],
)
def test_the_order_is_the_finest_that_the_log_gives(column: str, order: list[str]) -> None:
    rows = [(1, 1, 7, 5), (1, 2, 8, 6)]
    log = table("orders", f"order_id int, commit_no int, {column} bigint, x int", *rows)
    assert guesses(log)["sequence_by"] == order
    assert unsure(log) == {}


def test_a_delete_that_a_tool_marks_has_the_time_of_the_tool() -> None:
    schema = "id int, updated_at timestamp, _fivetran_deleted boolean, {} timestamp, x int"
    at = ("2026-01-05 08:00:00", "2026-01-05 09:00:00")
    rows = [(1, at[0], False, at[0], 5), (1, at[0], True, at[1], 5)]
    log = table("orders", schema.format("_fivetran_synced"), *rows)
    assert guesses(log)["sequence_by"] == ["_fivetran_synced"]
    assert unsure(log) == {}
    alone = table("orders", schema.format("made_at"), *rows)
    assert guesses(alone)["sequence_by"] == ["updated_at"]
    assert "sequence_by" in unsure(alone)


def test_nanoseconds_are_finer_than_milliseconds() -> None:
    log = table(
        "orders", "id int, source_ts_ms bigint, source_ts_ns bigint, x int", (1, 5, 5000, 0)
    )
    assert guesses(log)["sequence_by"] == ["source_ts_ns"]


def test_a_tie_is_asked_about() -> None:
    log = table("orders", "order_id int, commit_no int, x int", (1, 1, 5), (1, 1, 6))
    (asked,) = guess(log, "orders", {}).unsure
    assert (asked.field, asked.value) == ("sequence_by", ["commit_no"])
    assert "1 group of different changes have the same key and `commit_no`" in asked.why
    assert unsure(log, ties="prefer_upsert") == {}
    assert guesses(log, ties="prefer_upsert")["ties"] == "prefer_upsert"
    assert unsure(log, sequence_by=["commit_no"]) == {}


def test_a_tie_between_a_delete_and_an_upsert_is_asked_about() -> None:
    schema = "order_id int, ts timestamp, op string, x int"
    at = "2026-01-05 08:00:00"
    log = table("orders", schema, (1, at, "D", 5), (1, at, "I", 5))
    assert list(unsure(log)) == ["sequence_by"]
    # Two deletes are the same, and so are two equal rows.
    log = table(
        "orders", schema, (1, at, "D", 5), (1, at, "D", None), (2, at, "I", 1), (2, at, "I", 1)
    )
    assert unsure(log) == {}


def test_a_second_column_breaks_ties() -> None:
    schema = "order_id int, updated_at timestamp, op_seq int, op string, x int"
    at = "2026-01-05 08:00:00"
    log = table("orders", schema, (1, at, 1, "I", 5), (1, at, 2, "U", 6), (2, at, 1, "I", 6))
    assert unsure(log) == {}
    assert guesses(log)["sequence_by"] == ["op_seq"]


@pytest.mark.parametrize(
    ("columns", "row", "order"),
    [
        (
            "SCN decimal(38,0), COMMIT_SCN decimal(38,0), RS_ID string, SSN bigint",
            (100, 120, " 0x000035.0000a8e5.0010 ", 0),
            "SCN, RS_ID, SSN",
        ),
        ("LSN string, SEQVAL string", ("0x0027:01", "0x0027:02"), "LSN, SEQVAL"),
        ("LSN bigint, SSN string", (7, "123-45-6789"), "LSN"),
        ("COMMITSCN bigint, COMMIT_TIMESTAMP timestamp", (7, "2026-01-05 08:00:00"), "COMMITSCN"),
        ("COMMITSEQ string, INTENTSEQ string", ("00A1", "00A0"), "COMMITSEQ, INTENTSEQ"),
        ("SYS_CHANGE_VERSION bigint, x int", (7, 1), "SYS_CHANGE_VERSION"),
        ("commitNumber bigint, sequenceNumber int", (7, 1), "commitNumber, sequenceNumber"),
    ],
)
def test_a_position_has_all_its_parts(columns: str, row: tuple[Any, ...], order: str) -> None:
    """A sample without two changes at one position does not show that a part is missing."""
    log = table("orders", f"id int, {columns}, status string", (1, *row, "new"))
    assert ", ".join(guesses(log)["sequence_by"]) == order
    assert unsure(log) == {}


def test_two_orders_that_contradict_each_other_are_asked_about() -> None:
    log = table(
        "orders",
        "order_id int, updated_at timestamp, seq int, x int",
        (1, "2026-01-05 08:00:00", 2, 5),
        (1, "2026-01-05 09:00:00", 1, 6),
    )
    assert list(unsure(log)) == ["sequence_by"]
    assert "puts changes of a key in another order" in guess(log, "orders", {}).unsure[0].why


def test_a_number_that_is_called_an_id_is_an_order_if_its_values_prove_it() -> None:
    schema = "order_id int, change_id int, loaded_at timestamp, x int"
    log = table(
        "orders", schema,
        (1, 10, "2026-01-05 08:00:00", 5), (1, 20, "2026-01-05 09:00:00", 6),
    )  # fmt: skip
    assert guesses(log)["sequence_by"] == ["change_id"]
    other = table(
        "orders", schema,
        (1, 20, "2026-01-05 08:00:00", 5), (1, 10, "2026-01-05 09:00:00", 6),
    )  # fmt: skip
    assert guesses(other)["sequence_by"] == ["loaded_at"]


def test_rows_without_an_order_are_asked_about() -> None:
    log = table(
        "orders",
        "order_id int, updated_at timestamp, x int",
        (1, None, 5),
        (1, "2026-01-05 08:00:00", 6),
    )
    assert "it is null in 1 of 2 sampled rows" in guess(log, "orders", {}).unsure[0].why


@pytest.mark.parametrize(("order", "is_asked"), [("source_ts_ms", True), ("source_lsn", False)])
def test_rows_of_the_first_load_need_a_position(order: str, *, is_asked: bool) -> None:
    log = table(
        "orders", f"id int, __op string, __{order} bigint, x int", (1, "r", 5, 0), (1, "u", 6, 1)
    )
    assert ("sequence_by" in unsure(log)) == is_asked


@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        ("9", "10", "cast(lsn as decimal(38,0))"),
        ("999998", "999999", "cast(lsn as decimal(38,0))"),
        ("01", "10", "lsn"),
        ("01", "100", "cast(lsn as decimal(38,0))"),
        ("9" * 38, "8", "cast(lsn as decimal(38,0))"),
        ("9" * 39, "8", "lpad(lower(lsn), 64, '0')"),
        ("20260105080000123", "20260105080000124", "lsn"),
        ("1a", "2", "lpad(lower(lsn), 64, '0')"),
        ("0000002a", "0000002B", "lpad(lower(lsn), 64, '0')"),
        ("00000027:00000ac0:0002", "00000027:00000ac0:0003", "lsn"),
        ("2026-01-05T08:00:00.000000001Z", "2026-01-05T08:00:00.000000002Z", "lsn"),
        ("2026-01-05T08:00:00Z", "2026-01-05T08:00:00.5Z", "cast(lsn as timestamp)"),
    ],
)
def test_texts_of_numbers_sort_as_numbers(first: str, second: str, order: str) -> None:
    rows = [(1, first, 5), (1, second, 6)]
    log = table("orders", "order_id int, lsn string, x int", *rows)
    assert guesses(log)["sequence_by"] == [order]
    assert unsure(log) == {}


def test_texts_that_do_not_sort_are_asked_about() -> None:
    log = table("orders", "order_id int, lsn string, x int", (1, "a_9", 5), (1, "a_10", 6))
    assert list(unsure(log)) == ["sequence_by"]


def test_an_lsn_of_postgresql_is_a_number() -> None:
    log = table("orders", "order_id int, lsn string, x int", (1, "0/FFFFFFFF", 5), (1, "1/0", 6))
    (order,) = guesses(log)["sequence_by"]
    assert order.startswith("cast(conv(split_part(lsn, '/', 1), 16, 10) as bigint) * 4294967296")


def test_a_log_without_any_order_is_asked_about() -> None:
    log = table("orders", "order_id int, x int", (1, 0))
    assert unsure(log) == {"sequence_by": ("order_id", "x")}


# The place.


def test_the_place_is_the_topic_the_partition_and_the_offset() -> None:
    schema = "id int, meta struct<topic:string, partition:int, offset:bigint>, x int"
    rows = [
        (1, {"topic": topic, "partition": 0, "offset": offset}, offset)
        for topic, offset in (("a", 0), ("a", 1), ("b", 0))
    ]
    one = table("orders", schema, *rows[:2])
    assert guesses(one)["place"] == ["meta.partition", "meta.offset"]
    assert guesses(one)["sequence_by"] == ["meta.offset"]
    assert guesses(one)["columns"] == {"x": "int"}
    two = table("orders", schema, *rows)
    assert guesses(two)["place"] == ["meta.topic", "meta.partition", "meta.offset"]
    # The key is in two topics, so an offset is no order, and the topic may belong to the key.
    assert list(unsure(two)) == ["key", "sequence_by"]
    assert list(unsure(two, key=["id"])) == ["sequence_by"]


def test_two_messages_at_one_place_are_asked_about() -> None:
    schema = "id int, partition int, offset bigint, x int"
    assert unsure(table("orders", schema, (1, 0, 0, 5), (1, 0, 0, 5))) == {}
    assert "place" in unsure(table("orders", schema, (1, 0, 0, 5), (2, 0, 0, 6)))


def test_a_topic_without_a_position_has_its_offset_as_the_order() -> None:
    change = {"before": None, "after": {"id": 1, "name": "Ada"}, "op": "c", "source": {"ts_ms": 1}}
    rows = [('{"id": 1}', json.dumps(change), 0, place) for place in range(2)]
    assert guesses(table("t", TOPIC, *rows))["sequence_by"] == ["offset"]
    assert unsure(table("t", TOPIC, *rows)) == {}
    others = [(*rows[0][:2], partition, 0) for partition in range(2)]
    assert list(unsure(table("t", TOPIC, *others))) == ["sequence_by"]


def test_the_whole_old_row_of_wal2json_is_not_the_key() -> None:
    """That is so with REPLICA IDENTITY FULL."""
    columns = [{"name": "id", "type": "bigint", "value": 1}, {"name": "v", "type": "text"}]
    rest = {
        "schema": "public",
        "table": "orders",
        "timestamp": "2026-01-05 10:00:00+00",
        "lsn": "0/1",
    }
    messages = [
        {"action": "I", "columns": columns, **rest},
        {"action": "D", "identity": columns, **rest},
    ]
    log = table("orders_slot", "data string", *((json.dumps(one),) for one in messages))
    assert guesses(log)["key"] == ["id"]


# Deletes.


@pytest.mark.parametrize(
    ("column", "values", "condition"),
    [
        ("op string", ["i", "u", "d"], "op = 'd'"),
        ("op string", ["I", "U"], "op = 'D'"),
        ("operation string", ["INSERT", "UPDATE"], "operation = 'DELETE'"),
        (
            "_change_type string",
            ["insert", "update_postimage", "delete"],
            "_change_type = 'delete'",
        ),
        ("op string", ["U", "D", "DELETE"], "op in ('D', 'DELETE')"),
        ("__deleted string", ["true", "false"], "__deleted = 'true'"),
        ("is_deleted int", [0, 1], "is_deleted = 1"),
        ("is_deleted decimal(1,0)", [0], "is_deleted = 1"),
        ("is_deleted string", ["0", "1"], "is_deleted = '1'"),
        ("deleted_flag string", ["Y", "N"], "deleted_flag = 'Y'"),
        ("delete_flag string", [None, "n"], "delete_flag = 'y'"),
        ("removed string", ["Yes", "No"], "lower(removed) = 'yes'"),
        ("deleted string", ["f"], "deleted = 't'"),
        ("deleted string", [None, "FALSE"], "deleted = 'TRUE'"),
        ("deleted boolean", [False], "deleted"),
        ("deleted_at timestamp", [None, "2026-01-05 08:00:00"], "deleted_at is not null"),
        ("_fivetran_deleted boolean", [False, True], "_fivetran_deleted"),
        ("deleted_at bigint", [None, 1736071201], "deleted_at is not null"),
        ("discarded_at timestamp", [None, "2026-01-05 08:00:00"], "discarded_at is not null"),
        ("in_trash boolean", [False, True], "in_trash"),
        ("op string", ["IMPORT", "DELETE"], "op = 'DELETE'"),
        ("deletedAt bigint", [0, 1736071201], "deletedAt > 0"),
        ("_ab_cdc_deleted_at string", [None, "2026-01-05"], "_ab_cdc_deleted_at is not null"),
        ("note string", ["d"], None),
    ],
)
def test_deletes_are_found(column: str, values: list[Any], condition: str | None) -> None:
    rows = [(1, tick, value, 0) for tick, value in enumerate(values)]
    log = table("orders", f"order_id int, ts int, {column}, x int", *rows)
    assert guesses(log)["delete_when"] == condition
    assert unsure(log) == {}


def test_a_time_of_deletion_that_all_rows_have_is_not_sure() -> None:
    """`9999-12-31` says that the row still exists."""
    rows = ((1, 1, "9999-12-31 00:00:00", 0), (2, 2, "9999-12-31 00:00:00", 0))
    log = table("orders", "order_id int, ts int, deleted_at timestamp, x int", *rows)
    assert unsure(log) == {"delete_when": ("deleted_at is not null", "none")}


def test_a_column_with_the_values_of_an_operation_is_not_ignored() -> None:
    rows = [(1, tick, value, 0) for tick, value in enumerate(["insert", "update", "delete"])]
    log = table("orders", "order_id int, ts int, kind string, x int", *rows)
    assert guesses(log)["delete_when"] == "kind = 'delete'"
    assert unsure(log) == {}
    state = table("orders", "order_id int, ts int, state string, x int", *rows)
    assert unsure(state) == {"delete_when": ("state = 'delete'", "none")}
    why = guess(state, "orders", {}).guesses["delete_when"].why
    assert why == "`state` has the values of an operation: delete, insert, update"
    assert "state" in guesses(state, delete_when="none")["columns"]
    other = table("orders", "order_id int, ts int, kind string, x int", *rows, (1, 9, "sent", 0))
    # A word for a delete beside other values may be a delete.
    assert unsure(other) == {"delete_when": ("kind = 'delete'", "none")}
    status = table("orders", "id int, ts int, op string, status string", (1, 1, "U", "removed"))
    assert unsure(status) == {}


@pytest.mark.parametrize(
    ("column", "values", "skipped"),
    [
        ("_change_type", ("insert", "update_preimage", "update_postimage"), "update_preimage"),
        ("_change_type", ("INSERT", "UPDATE_AFTER"), "UPDATE_BEFORE"),
        ("rowkind", ("+I", "-U", "+U", "-D"), "-U"),
        ("header__change_oper", ("I", "B", "U", "D"), "B"),
        ("meta.op", ("I", "B", "U", "D"), "B"),
    ],
)
def test_rows_from_before_an_update_are_skipped(
    column: str, values: tuple[str, ...], skipped: str
) -> None:
    top, _, inner = column.partition(".")
    kind = f"struct<{inner}:string>" if inner else "string"
    rows = [(1, n, {inner: one} if inner else one, n) for n, one in enumerate(values)]
    log = table("orders", f"order_id int, seq int, {top} {kind}, x int", *rows)
    assert guesses(log)["skip_when"] == f"{column} = '{skipped}'"
    assert guesses(log)["columns"] == {"x": "int"}
    assert unsure(log) == {}


def test_the_codes_of_sql_server_are_known_and_other_codes_are_not() -> None:
    rows = [(1, tick, code, 0) for tick, code in enumerate((2, 3, 4, 1))]
    types = {"id": "int", "lsn": "int", "__$operation": "int", "x": "int"}
    log = read_log("t", types, [dict(zip(types, row, strict=True)) for row in rows])
    assert guesses(log)["delete_when"] == "`__$operation` = 1"
    assert guesses(log)["skip_when"] == "`__$operation` = 3"
    assert unsure(log) == {}
    log = table("t", "id int, lsn int, operation_code int, x int", *rows)
    assert "delete_when" in unsure(log)


def test_a_delete_with_an_insert_of_snowflake_is_an_update() -> None:
    schema = "ID int, LOADED_AT timestamp, METADATA$ACTION string, METADATA$ISUPDATE boolean, X int"
    at = "2026-01-05 08:00:00"
    log = table("orders", schema, (1, at, "DELETE", True, 5), (1, at, "INSERT", True, 6))
    assert guesses(log)["skip_when"] == "`METADATA$ACTION` = 'DELETE' and `METADATA$ISUPDATE`"
    assert guesses(log)["columns"] == {"X": "int"}


@pytest.mark.parametrize(
    ("values", "deletes"),
    [
        (("insert", "update", "delete", "truncate"), ("state = 'delete'", "none")),
        (("insert", "update", "truncate"), ("state = 'delete'", "none")),
        (("I", "T"), ("state = 'D'", "none")),
        (("merge", "truncate"), ("none",)),
        (("delete", "truncate"), ("state = 'delete'", "none")),
    ],
)
def test_a_truncate_in_a_column_with_the_values_of_an_operation_is_not_lost(
    values: tuple[str, ...], deletes: tuple[str, ...]
) -> None:
    rows = [(1, tick, value, 0) for tick, value in enumerate(values)]
    # Other columns do not hide it.
    schema = "order_id int, ts int, grade string, state string, x int"
    log = table("orders", schema, *((*row[:2], "B", *row[2:]) for row in rows))
    truncate = f"state = '{values[-1]}'"
    assert unsure(log)["truncate_when"] == (truncate, "none")
    assert unsure(log)["delete_when"] == deletes
    answered = guesses(log, delete_when="none", truncate_when=truncate)
    assert answered["columns"] == {"grade": "string", "x": "int"}
    assert "state" in guesses(log, delete_when="none", truncate_when="none")["columns"]


def test_a_column_with_one_kind_of_value_is_no_operation() -> None:
    for values in (("t", "truncate"), ("d", "deleted"), ("insert", "update"), ("t", "f")):
        rows = [(1, tick, value, 0) for tick, value in enumerate(values)]
        assert unsure(table("orders", "order_id int, ts int, kind string, x int", *rows)) == {}


def test_the_operation_of_values_is_a_column_with_deletes_if_there_is_one() -> None:
    schema = "order_id int, ts int, grade string, state string"
    log = table("orders", schema, (1, 1, "a", "insert"), (1, 2, "t", "delete"))
    assert unsure(log) == {"delete_when": ("state = 'delete'", "none")}


def test_an_operation_that_is_not_understood_is_not_sure() -> None:
    log = table("orders", "order_id int, ts int, op string, x int", (1, 1, "D", 0), (1, 2, "Q", 0))
    assert unsure(log) == {"delete_when": ("op = 'D'", "none")}
    assert "D, Q: Q is not understood" in guess(log, "orders", {}).guesses["delete_when"].why
    assert guesses(log, delete_when="none")["delete_when"] is None


@pytest.mark.parametrize(
    ("column", "values", "candidates", "why"),
    [
        ("op int", [1, 2], ("op = 1", "op = 2"), "`op` is 1, 2: this is not"),
        ("op string", ["it's"], ("op = 'it\\'s'",), "`op` is it's: this is not"),
        (
            "is_deleted string",
            ["X", None],
            ("is_deleted is not null", "is_deleted = 'X'"),
            "`is_deleted` is X: this is not understood",
        ),
        ("deleted int", [-1, 0], ("deleted = -1", "deleted = 0"), "`deleted` is -1, 0: this"),
        ("deleted string", ["y", "false"], ("deleted = 'false'", "deleted = 'y'"), "false, y: "),
        ("deleted string", ["d"], ("deleted = 'd'",), "`deleted` is d: this is not understood"),
        ("deleted string", [None], ("deleted is not null",), "`deleted` is null: this"),
    ],
)
def test_a_column_named_like_a_delete_but_not_understood_is_not_sure(
    column: str, values: list[Any], candidates: tuple[str, ...], why: str
) -> None:
    rows = [(1, tick, value, 0) for tick, value in enumerate(values)]
    log = table("orders", f"order_id int, ts int, {column}, x int", *rows)
    assert unsure(log) == {"delete_when": (*candidates, "none")}
    assert why in guess(log, "orders", {}).guesses["delete_when"].why


def test_all_columns_that_look_like_a_delete_must_agree() -> None:
    schema = "order_id int, ts int, op string, is_deleted boolean, deleted_at timestamp, x int"
    at = "2026-01-05 08:00:00"
    log = table("orders", schema, (1, 1, "U", False, None, 0), (1, 2, "D", True, at, 0))
    assert guesses(log)["delete_when"] == "op = 'D'"
    assert guesses(log)["columns"] == {"x": "int"}
    assert unsure(log) == {}
    # The application deletes rows by a flag of its own, or nothing was deleted yet.
    for op, is_deleted in (("U", True), ("D", False), ("U", False)):
        log = table("orders", schema, (1, 2, op, is_deleted, None, 0))
        assert "delete_when" in unsure(log)
    assert "`is_deleted` is true in 0 of 1" in guess(log, "orders", {}).guesses["delete_when"].why


def test_a_column_that_says_who_deleted_must_agree() -> None:
    schema = "order_id int, ts int, op string, deleted_by string"
    log = table("orders", schema, (1, 1, "U", None), (1, 2, "D", "ada"))
    assert unsure(log) == {}
    log = table("orders", schema, (1, 1, "U", "ada"), (1, 2, "D", "ada"))
    assert "delete_when" in unsure(log)


@pytest.mark.parametrize(
    ("column", "values", "candidate"),
    [
        ("event_type string", ("OrderCreated", "OrderDeleted"), "event_type = 'OrderDeleted'"),
        ("status string", ("active", "deleted"), "status = 'deleted'"),
        ("_fivetran_active boolean", (True, False), "not _fivetran_active"),
        ("is_current boolean", (True, False), "not is_current"),
        ("current_flag string", ("Y", "N"), "current_flag = 'N'"),
        ("lvorm string", ("", "X"), "lvorm = 'X'"),
        ("rec_kind int", (1, 2, 3), "rec_kind = 3"),
        ("cdc_code int", (1, 2, 4), "cdc_code = 4"),
        ("found boolean", (True, False), "not found"),
        ("archived boolean", (True, False), "archived"),
        ("action_code string", ("1", "2", "3"), "action_code = '3'"),
        ("mz_diff bigint", (1, -1), "mz_diff = -1"),
        ("factor int", (1, 0, -1), "factor = -1"),
        ("sign tinyint", (-1,), "sign = -1"),
    ],
)
def test_a_column_that_may_delete_is_named(
    column: str, values: tuple[Any, ...], candidate: str
) -> None:
    rows = [(1, tick, value, 0) for tick, value in enumerate(values)]
    log = table("orders", f"order_id int, ts int, {column}, x int", *rows)
    assert candidate in unsure(log)["delete_when"]
    assert column.split(" ", maxsplit=1)[0] in guess(log, "orders", {}).guesses["delete_when"].why


def test_the_end_of_a_version_may_delete() -> None:
    at = "2026-01-05 0{}:00:00".format
    for begin, end in (("valid_from", "valid_to"), ("SysStartTime", "SysEndTime")):
        schema = f"id int, lsn int, {begin} timestamp, {end} timestamp, x int"
        rows = [(1, 1, at(1), at(2), 5), (1, 2, at(2), None, 6), (2, 1, at(3), at(4), 7)]
        log = table("orders", schema, *rows)
        assert unsure(log)["delete_when"] == (f"{end} is not null", "none")
        far = [(*row[:3], row[3] or "9999-12-31 00:00:00", row[4]) for row in rows]
        assert unsure(table("orders", schema, *far))["delete_when"][0] == f"{end} < '9999-01-01'"
        # Nothing begins where another thing ends: the last day of a contract is a value.
        assert unsure(table("orders", schema, *rows[1:])) == {}


def test_a_message_without_values_may_delete() -> None:
    schema = "key string, name string, city string, partition int, offset bigint, {} timestamp"
    rows = [("a", "x", None, 0, 1), ("b", "y", "z", 0, 2), ("a", None, None, 0, 3)]
    log = table("t", schema.format("timestamp"), *((*row, "2026-01-05 08:00:00") for row in rows))
    empty = ("name is null and city is null", "none")
    assert unsure(log)["delete_when"] == empty
    assert unsure(log, key=["key"]) == {"delete_when": empty}
    assert unsure(log, key=["key"], delete_when="none") == {}
    # A row of a table may be empty.
    assert unsure(table("t", "id int, lsn int, name string", (1, 1, "x"), (2, 2, None))) == {}


def test_no_command_deletes_only_if_no_column_looks_like_a_delete() -> None:
    log = table("orders", "order_id int, ts int, x int", (1, 1, 0))
    made = guess(log, "orders", {}).guesses["delete_when"]
    assert (made.value, made.is_sure) == (None, True)
    odd = ("removed_code int", "isTombstone int", "opCode int", "opcode int", "meta struct<op:int>")
    for column in odd:
        name, kind = column.split(" ", 1)
        log = table(
            "orders",
            f"order_id int, ts int, {name} {kind}, x int",
            (1, 1, {"op": 7} if "<" in kind else 7, 0),
        )
        assert "delete_when" in unsure(log), column


def test_a_truncate_is_found() -> None:
    log = table("orders", "order_id int, ts int, op string, x int", (1, 1, "I", 0), (1, 2, "T", 0))
    assert guesses(log)["truncate_when"] == "op = 'T'"


# Values.


def test_columns_of_the_change_and_of_its_arrival_are_no_values() -> None:
    log = table(
        "orders",
        "topic string, order_id int, commit_no int, seq int, _loaded int, file_name string,"
        " status string, attributes map<string,string>, levels map<int,string>",
        ("t", 1, 1, 1, 1, "f", "new", {}, {}),
    )
    values = {"status": "string", "attributes": "map<string,string>"}
    assert guesses(log)["columns"] == values
    assert "levels is left out: the keys of a map must be texts" in warnings(log)


@pytest.mark.parametrize(
    ("condition", "is_value"),
    [
        ("lower(deleted) = 'y'", True),
        ('deleted = "y"', True),
        ("deleted = 'it\\'s' or y = 1", False),
        ("deleted = 'N' or `y` = 'x'", False),
        ("Y = 1", False),
    ],
)
def test_a_column_is_no_value_if_the_condition_reads_it_outside_of_its_texts(
    condition: str, *, is_value: bool
) -> None:
    log = table("orders", "order_id int, ts int, deleted string, x int, y int", (1, 1, "n", 0, 0))
    assert ("y" in guesses(log, delete_when=condition)["columns"]) == is_value


def test_a_name_in_backquotes_may_have_a_quote() -> None:
    log = table("orders", "order_id int, ts int, it's string, x int", (1, 1, "n", 0))
    assert guesses(log, delete_when="`it's` = 'D'")["columns"] == {"x": "int"}


@pytest.mark.parametrize(
    "name",
    [
        *("profile_name", "serial_number", "amount_received", "received_by", "quantity_processed"),
        *("txn_type", "txn_amount", "truck_load", "load_factor", "ingestor_name"),
    ],
)
def test_a_column_with_a_word_of_a_change_in_its_name_may_be_a_value(name: str) -> None:
    log = table("orders", f"order_id int, ts int, {name} string", (1, 1, "a"))
    assert guesses(log)["columns"] == {name: "string"}


@pytest.mark.parametrize(
    "name",
    [
        *("file_name", "source_filename", "serial", "row_serial", "txn", "txn_id", "last_txn_no"),
        *("received", "_loaded", "received_at", "kafka_received_ts", "load_id", "load_timestamp"),
        *("ingestion_time", "ingested", "synced_on", "landed_date"),
    ],
)
def test_a_column_with_the_name_of_a_change_is_no_value(name: str) -> None:
    log = table("orders", f"order_id int, ts int, {name} string, x int", (1, 1, "a", 0))
    assert name not in guesses(log)["columns"]


# Messages.


def topic(*messages: str | None, key: str | None = '{"id": 1}') -> Log:
    rows = [(key, message, 0, place) for place, message in enumerate(messages)]
    return table("customers_topic", TOPIC, *rows)


def test_types_come_from_the_schema_of_connect() -> None:
    kinds = [
        {"type": "int32", "field": "id"},
        {"type": "int16", "field": "rank"},
        {"type": "double", "field": "score"},
        {
            "type": "bytes",
            "name": "org.apache.kafka.connect.data.Decimal",
            "parameters": {"scale": "2"},
            "field": "price",
        },
        {"type": "array", "items": {"type": "string"}, "field": "tags"},
    ]
    after = {"id": 1, "rank": 2, "score": 3, "price": "AQ==", "tags": []}
    schema = {"type": "struct", "fields": [{"type": "struct", "fields": kinds, "field": "after"}]}
    message = {"schema": schema, "payload": json.loads(event(after))}
    log = topic(json.dumps(message), key='{"schema": {}, "payload": {"id": 1}}')
    assert guesses(log)["key"] == ["id"]
    assert guesses(log)["columns"] == {
        "rank": "smallint", "score": "double", "price": "decimal(38,2)", "tags": "array<string>",
    }  # fmt: skip


def test_types_fit_the_values_of_the_messages() -> None:
    first = {"id": 1, "n": 1, "f": 1, "b": True, "o": {"x": 1}, "big": 2**63, "none": None}
    second = {"id": 1, "n": 2, "f": 1.5, "b": None, "o": None, "big": 1, "none": None}
    log = topic(event(first), event(second))
    assert guesses(log)["columns"] == {
        "n": "bigint", "f": "double", "b": "boolean", "o": "struct<x: bigint>",
        "big": "decimal(38,0)", "none": "string",
    }  # fmt: skip
    assert warnings(log) == ["none: null in the whole sample, so the type is a guess"]


def test_a_value_that_debezium_may_have_encoded_is_pointed_out() -> None:
    first = {
        "id": 1, "amount": "BOI=", "rate": {"scale": 2, "value": "AYag"}, "code": "paid",
        "placed_at": 1767225600000000, "seen": 1767225600000, "tweet": 1767225600000000000,
        "sent_ts": 1767225600000000000, "born_on": 9000, "stock": 9000, "note": LOST,
    }  # fmt: skip
    second = {**first, "amount": "AYag", "rate": {"scale": 0, "value": "Bw=="}, "code": "sent"}
    log = topic(event(first), event(second))
    noted = dict(one.split(" has values such as ") for one in warnings(log))
    found = re.compile(r"may be (.*); the.*write '(.*)'.* not (.*), in the model")
    may_be = {name: found.findall(text)[0] for name, text in noted.items()}
    assert may_be == {
        "amount": ("decimals in base64", "decimal(10,2) from base64", "string"),
        "rate": (
            "decimals in base64",
            "decimal(10,2) from base64",
            "struct<scale: bigint, value: string>",
        ),
        "placed_at": ("times in microseconds", "timestamp from micros", "bigint"),
        "seen": ("times in milliseconds", "timestamp from millis", "bigint"),
        "sent_ts": ("times in nanoseconds", "timestamp from nanos", "bigint"),
        "born_on": ("dates in days", "date from days", "bigint"),
    }
    assert noted["amount"] == (
        '"BOI=". They may be decimals in base64; the messages do not say. If so, write'
        " 'decimal(10,2) from base64' (with the digits of the source) and not string, in the model"
        " and in its test"
    )


def test_an_odd_name_inside_of_an_object_is_in_backquotes() -> None:
    log = topic(event({"id": 1, "place": {"lat-lon": 1.5, "on": [{"a b": 1, "c`d": 2}]}}))
    assert guesses(log)["columns"] == {
        "place": "struct<`lat-lon`: double, on: array<struct<`a b`: bigint, `c``d`: bigint>>>"
    }
    assert warnings(log) == []
    struct = {"type": "struct", "fields": [{"type": "int32", "field": "lat-lon"}]}
    assert connect_type(struct) == "struct<`lat-lon`: int>"


@pytest.mark.parametrize("name", ["a:b", "a,b", "a<b", "a(b", "a\nb", ""])
def test_an_object_with_a_name_that_no_type_can_hold_is_left_out(name: str) -> None:
    log = topic(event({"id": 1, "x": 1, "place": {name: 1}}))
    assert guesses(log)["columns"] == {"x": "bigint"}
    assert warnings(log) == ["place is left out: `trueup.parse_json` cannot read its type"]


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        (["1.5", "2"], "double"),
        (["1234567890.12345"], "double"),
        (["1.50000000000000000000"], "double"),
        (["1234567890.123456"], "decimal(38,10)"),
        (["0.12345678901234567890", "7"], "decimal(38,20)"),
        (["9007199254740993", "1.5"], "decimal(38,10)"),
        (["18446744073709551615", "1.5"], "decimal(38,10)"),
        (["9007199254740993"], "bigint"),
        (["123456789012345678901234567890.5"], "decimal(38,8)"),
        (["1234567890.1234567", '"a"'], "decimal(38,10)"),
        (["[1.5]", "[1234567890.1234567]"], "array<decimal(38,10)>"),
        (['{"x": 1234567890.1234567}'], "struct<x: decimal(38,10)>"),
        (["1.2345678901234567e-30", "1.5"], "double"),
    ],
)
def test_a_number_of_many_digits_is_a_decimal(numbers: list[str], kind: str) -> None:
    log = topic(*(event({"id": 1, "n": 0}).replace('"n": 0', f'"n": {one}') for one in numbers))
    assert guesses(log)["columns"] == {"n": kind}
    assert len(warnings(log)) == ("decimal" in kind)


def test_a_decimal_that_the_sample_suggests_is_pointed_out() -> None:
    log = topic(event({"id": 1, "n": 1234567890.123456, "list": [1234567890.123456]}))
    number, nested = warnings(log)
    assert number == (
        "n is decimal(38,10) because of its digits in the sample: a number of up to 38 digits that"
        " does not fit becomes an error row, and Spark reads a longer one as a double"
    )
    assert nested == (
        "list is array<decimal(38,10)> because of its digits in the sample: Spark decides what"
        " becomes of a number inside that does not fit"
    )


def slot(kind: str, *values: str) -> Log:
    """Messages of wal2json with the column `n` of a type of PostgreSQL."""
    column = {"name": "n", "type": kind, "value": 0}
    messages = [change("I", columns=[*fields(id=1), column], pk=fields(id=1)) for _ in values]
    rows = [
        (one.replace('"value": 0', f'"value": {value}'),)
        for one, value in zip(messages, values, strict=True)
    ]
    return table("slot", "data string", *rows)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("numeric", ["1", "2.5"], "decimal(38,10)"),
        ("numeric", ["null"], "decimal(38,10)"),
        ("numeric", ["0.123456789012345", "7"], "decimal(38,15)"),
        ("numeric", ["123456789012345678901234567890.5"], "decimal(38,8)"),
        ("numeric", ["1" * 50], "decimal(38,0)"),
        ("numeric(50,2)", ["1.25"], "decimal(38,10)"),
        ("numeric(3,-2)", ["1200"], "decimal(38,10)"),
        ("numeric(2,4)", ["0.0012"], "decimal(38,10)"),
    ],
)
def test_a_numeric_that_is_no_decimal_of_spark_has_the_digits_of_the_sample(
    kind: str, values: list[str], expected: str
) -> None:
    log = slot(kind, *values)
    assert guesses(log)["columns"] == {"n": expected}
    assert f"n is {expected} because" in warnings(log)[-1]


def test_a_numeric_in_the_key_is_pointed_out_too() -> None:
    columns = [{"name": "n", "type": "numeric", "value": 7}, *fields(x="a")]
    log = table("slot", "data string", (change("I", columns=columns, pk=columns[:1]),))
    facts = guess(log, "slot", {})
    assert facts["key"] == ["n"]
    assert typed_columns(facts) == {"n": "decimal(38,10)", "x": "string"}
    assert "n is decimal(38,10) because" in warnings(log)[0]


def test_a_numeric_with_its_digits_is_not_pointed_out() -> None:
    assert guesses(slot("numeric(38,20)", "1.5"))["columns"] == {"n": "decimal(38,20)"}
    assert guesses(slot("numeric(9)", "15"))["columns"] == {"n": "decimal(9,0)"}
    assert warnings(slot("numeric(38,20)", "1.5")) == []


def test_a_header_with_the_old_key_is_used() -> None:
    header = [{"key": "__debezium.oldkey", "value": "eyJpZCI6IDF9"}]
    row = ('{"id": 7}', event({"id": 7, "name": "Ada"}), 0, 1, header)
    log = table("customers", f"{TOPIC}, headers array<struct<key:string>>", row)
    assert guesses(log)["old_key"] == (
        "get(filter(headers, header -> header.key = '__debezium.oldkey'), 0).value"
    )
    assert guesses(log)["sequence_by"] is None
    assert unsure(log) == {}


def test_the_key_of_a_message_is_all_its_fields() -> None:
    key = "struct<tenant:string,id:int>"
    schema = f"tenant string, id int, _cdc struct<op:string,offset:bigint,key:{key}>"
    row = {"op": "I", "offset": 1, "key": {"tenant": "a", "id": 1}}
    log = table("orders", schema, ("a", 1, row), ("b", 1, {**row, "offset": 2}))
    assert guesses(log)["key"] == ["tenant", "id"]
    log = table(
        "orders",
        "key string, tenant string, id int, offset bigint, x int",
        ('{"tenant": "a", "id": 1}', "a", 1, 0, 5),
    )
    assert guesses(log)["key"] == ["tenant", "id"]
    assert guesses(log)["columns"] == {"x": "int"}
    log = topic(event({"tenant": "a", "id": 1, "x": 1}), key='{"tenant": "a", "id": 1}')
    assert guesses(log)["key"] == ["tenant", "id"]


def test_binary_messages_are_read() -> None:
    messages = [event({"id": 1, "name": "Ada"}), event({"id": 2, "name": "Bob"})]
    rows = [{"value": base64.b64encode(one.encode()).decode()} for one in messages]
    log = read_log("customers", {"value": "binary"}, rows)
    found = guesses(log)
    assert (found["envelope"], found["message_key"], found["key"]) == ("debezium", None, ["id"])
    assert unsure(log) == {}


def test_a_topic_of_several_tables_asks_for_the_table() -> None:
    log = topic(event({"id": 1, "y": 1}, table="a"), event({"id": 2, "x": 1}, table="b"))
    assert unsure(log) == {"table": ("public.a", "public.b", "all")}
    assert guesses(log, table="all")["columns"] == {"y": "bigint", "x": "bigint"}
    assert guesses(log, table="public.b")["columns"] == {"x": "bigint"}


def test_the_key_of_several_sources_is_asked_about() -> None:
    first, second = json.loads(event({"id": 1, "x": 1})), json.loads(event({"id": 1, "x": 2}))
    first["source"]["name"], second["source"]["name"] = "eu", "us"
    log = topic(json.dumps(first), json.dumps(second))
    assert unsure(log) == {"key": ("id",)}
    (why,) = [one.why for one in guess(log, "customers", {}).unsure]
    assert "the messages come from eu, us" in why
    assert unsure(log, key=["id"]) == {}
    # Without names in the messages, the topics say it.
    rows = [('{"id": 1}', event({"id": 1, "x": 1}), 0, 0, name) for name in ("eu", "us")]
    assert list(unsure(table("customers", f"{TOPIC}, topic string", *rows))) == ["key"]
    same = [
        ('{"id": 1}', event({"id": 1, "x": place}, lsn=place), 0, place, "eu") for place in (0, 1)
    ]
    assert unsure(table("customers", f"{TOPIC}, topic string", *same)) == {}


def test_a_log_of_several_tables_asks_for_the_table() -> None:
    schema = "id int, lsn int, __op string, __table string, x int"
    log = table("changes", schema, (1, 1, "c", "a", 5), (1, 2, "u", "b's", 6))
    assert list(unsure(log)) == ["table"]
    assert unsure(log)["table"] == ("a", "b's", "all")
    assert guesses(log, table="all")["skip_when"] is None
    assert guesses(log, table="b's")["skip_when"] == "not __table <=> 'b\\'s'"
    assert unsure(log, table="b's") == {}
    named = table("a", schema, *(tuple(row.values()) for row in log.rows))
    assert guesses(named)["skip_when"] == "not __table <=> 'a'"


def test_a_slot_of_several_tables_takes_the_one_with_the_name_of_the_collection() -> None:
    rows = [(change("I", name, columns=fields(id=1, x="a")),) for name in ("slot", "parcels")]
    log = table("parcels", "data string", *rows)
    assert guesses(log)["table"] == "public.parcels"
    assert list(unsure(table("changes", "data string", *rows))) == ["table"]


def test_the_primary_key_of_wal2json_is_the_key() -> None:
    columns = fields(country="de", id=1, x="a")
    key: dict[str, Any] = {
        "pk": [{"name": "country", "type": "text"}, {"name": "id", "type": "bigint"}]
    }
    log = table("slot", "data string", (change("I", columns=columns, **key),))
    assert guesses(log)["key"] == ["country", "id"]


MYSQL = "key string, value string, partition int, offset bigint"


def of_mysql(*positions: tuple[int, str, int, str | None], places: bool = True) -> Log:
    """A topic of Debezium for MySQL: the key, the file, the position and the gtid."""
    rows = []
    for offset, (key, file, pos, gtid) in enumerate(positions):
        row = {"id": key, "status": f"{offset}"}
        source = {"db": "shop", "table": "orders", "file": file, "pos": pos, "gtid": gtid}
        value = json.dumps({"before": None, "after": row, "op": "u", "source": source})
        rows.append((json.dumps({"id": key}), value, 0, offset))
    schema = MYSQL if places else "key string, value string"
    return table("orders", schema, *(row if places else row[:2] for row in rows))


A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562:{}", "8a94f357-aab4-11df-86ab-c80aa9429444:{}"


def test_positions_that_begin_again_are_asked_about() -> None:
    """After a failover of MySQL the files of another server count from another number."""
    steps = [(1, "bin.000009", 400, A.format(7)), (1, "bin.000010", 4, A.format(8))]
    assert unsure(of_mysql(*steps)) == {}
    assert warnings(of_mysql(*steps)) == []
    for later in ((1, "bin.000002", 900, B.format(1)), (2, "bin.000002", 900, None)):
        log = of_mysql(*steps, later)
        assert unsure(log) == {"sequence_by": ("none", "partition", "offset")}
        assert unsure(log, sequence_by=["offset"]) == {}
        (why,) = [one.why for one in guess(log, "orders", {}).unsure]
        assert "go back in the topic" in why
        assert "'When positions begin again' in docs/your-log.md" in why
    # A message that was sent again is no new one. The offset of a key may be in two partitions.
    assert unsure(of_mysql(*steps, steps[0])) == {}
    # Two servers: their positions may go on by chance.
    log = of_mysql(*steps, (1, "bin.000011", 4, B.format(1)))
    assert unsure(log) == {}
    (warning,) = warnings(log)
    assert warning.startswith("the transactions are of 2 servers: 3e11fa47-71ca-11e1-9e33-c80aa9")
    # Without a place nobody knows.
    log = of_mysql(*steps, (1, "bin.000011", 4, B.format(1)), places=False)
    assert list(unsure(log)) == ["sequence_by"]


def test_positions_of_any_source_that_go_back_are_asked_about() -> None:
    first, last = (event({"id": 1, "x": lsn}, lsn=lsn) for lsn in (900, 100))
    assert unsure(topic(last, first)) == {}
    assert list(unsure(topic(first, last))) == ["sequence_by"]
    # Two transactions of PostgreSQL overlap, so only the positions of one key are compared.
    other = ('{"id": 2}', event({"id": 2, "x": 0}, lsn=100), 0, 1)
    assert unsure(table("t", TOPIC, ('{"id": 1}', first, 0, 0), other)) == {}
    schema = "id int, lsn string, x int, partition int, offset int"
    rows = [(1, "0/F0", 1, 0, 1), (1, "0/1A0", 2, 0, 2), (1, "0/20", 3, 0, 3)]
    assert unsure(table("orders", schema, *rows[:2])) == {}
    assert list(unsure(table("orders", schema, *rows))) == ["sequence_by"]
    schema = "id int, __source_file string, __source_pos int, __source_ts_ms bigint, x int"
    files = [(1, "bin.000009", 4, 1000, 1), (1, "bin.000010", 4, 2000, 2)]
    assert unsure(table("orders", schema, *files)) == {}
    assert list(unsure(table("orders", schema, *files, (1, "bin.000002", 4, 3000, 3)))) == [
        "sequence_by"
    ]
    schema = "id int, __source_file string, __source_pos int, __source_gtid string, x int"
    gtids = [(1, "bin.000009", 4, A.format(1), 1), (1, "bin.000010", 4, B.format(1), 2)]
    assert list(unsure(table("orders", schema, *gtids))) == ["sequence_by"]


def test_a_model_of_flattened_messages_says_so() -> None:
    flat = '{"id": 1, "status": "new", "__op": "c", "__source_lsn": 7, "__deleted": "false"}'
    for message, is_flat in ((flat, True), (event({"id": 1, "status": "new"}), False)):
        model = write_model(guess(topic(message), "orders", {}), "'t'")
        assert ("flattened=true" in model) == is_flat


def test_the_position_may_lie_beside_the_message() -> None:
    message = json.loads(change("I", columns=fields(id=1, x="a")))
    del message["timestamp"], message["lsn"]
    log = table("slot", "lsn string, xid bigint, data string", ("0/1", 5, json.dumps(message)))
    assert unsure(log) == {}
    assert guesses(log)["sequence_by"][0].startswith("cast(conv(split_part(lsn")


def test_odd_names_are_quoted_in_the_order_of_messages() -> None:
    message = json.loads(change("I", columns=fields(id=1, x="a")))
    del message["lsn"]
    row = {"log-position": 5, "data": json.dumps(message)}
    log = read_log("slot", {"log-position": "bigint", "data": "string"}, [row])
    assert guesses(log)["sequence_by"] == ["`log-position`"]
    assert unsure(log) == {}
    other = read_log("slot", {"x y": "bigint", "data": "string"}, [{"x y": 5, "data": row["data"]}])
    assert unsure(other) == {"sequence_by": ("`x y`",)}


def test_broken_messages_are_pointed_out() -> None:
    log = topic(event({"id": 1, "x": 1}), event({"id": 1, "x": 2}), "oops")
    assert warnings(log) == ["1 message in `value` cannot be read: each becomes an error row"]


def test_json_without_an_envelope_is_not_sure() -> None:
    log = topic('{"status": "new"}')
    assert "envelope" in unsure(log)
    assert "trueup.parse_json" in guess(log, "customers", {}).guesses["envelope"].why


def test_an_envelope_that_the_log_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="--envelope debezium needs a column with its messages"):
        guess(ORDERS, "orders", {"envelope": "debezium"})


def test_an_empty_log_is_guessed_by_its_names_and_not_sure() -> None:
    log = table("orders_log", "commit_no bigint, op string, order_id bigint, status string")
    assert {"envelope", "key", "sequence_by", "delete_when"} <= set(unsure(log))
    assert guesses(log)["key"] == ["order_id"]
