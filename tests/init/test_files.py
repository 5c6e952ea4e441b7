"""The files of a collection: one model and its properties, short enough to be read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jinja2 import Template

from dbt_trueup.errors import UsageError
from dbt_trueup.init.files import Place, scalar, write_files
from dbt_trueup.init.guess import guess
from dbt_trueup.init.log import read_log
from dbt_trueup.init.project import save_files
from dbt_trueup.init.words import collection_name
from tests.init.logs import (
    CUSTOMERS,
    INVOICES,
    ORDERS,
    PARCELS,
    PRODUCTS,
    SUPPLIERS,
    TOPIC,
    event,
    table,
)

if TYPE_CHECKING:
    from pathlib import Path

    from dbt_trueup.init.log import Log

MODELS = [
    (
        ORDERS,
        """\
{{ config(materialized='trueup', unique_key='order_id') }}

{{ trueup.commands(
    relation=source('shop', 'log'),
    sequence_by=['change_no'],
    delete_when="op = 'D'",
    columns=['customer_id', 'status']
) }}
""",
    ),
    (
        SUPPLIERS,
        """\
{{ config(materialized='trueup', unique_key='supplier_id') }}

{{ trueup.commands(
    relation=trueup.snapshot_commands(
        relation=source('shop', 'log'),
        unique_key=['supplier_id'],
        ts='extracted_on'
    ),
    sequence_by=['snapshot_ts', 'not is_absent'],
    delete_when='is_absent',
    columns=['name', 'city']
) }}
""",
    ),
    (
        CUSTOMERS,
        """\
{{ config(materialized='trueup', unique_key='id') }}

{{ trueup.debezium(
    relation=source('shop', 'log'),
    schema={
        'id': 'bigint',
        'name': 'string',
        'notes': 'string'
    },
    reclock=['partition', 'offset']
) }}
""",
    ),
    (
        PARCELS,
        """\
{{ config(materialized='trueup', unique_key='id') }}

{{ trueup.wal2json(
    relation=source('shop', 'log'),
    schema={
        'id': 'bigint',
        'state': 'string',
        'weight': 'decimal(6,2)',
        'sent': 'timestamp'
    },
    table='public.parcels'
) }}
""",
    ),
]

PROPERTIES = """\
version: 2

sources:
  - name: shop
    tables:
      - name: orders_log
        description: The log of orders. Rows are only ever appended.

models:
  - name: orders
    description: The rows of orders as they are now, one for each key.
    columns:
      - name: order_id
        description: The key.
        data_tests: [not_null, unique]
      - name: customer_id
        description: "The newest value of `customer_id`."
      - name: status
        description: "The newest value of `status`."
    data_tests:
      - trueup.no_open_errors
      - trueup.agrees_with_log:
          arguments:
            log: "source('shop', 'log')"
            key: ["order_id"]
            sequence_by: ["change_no"]
            delete_when: "op = 'D'"
            columns: ["customer_id", "status"]
"""


def files(log: Log, *, companions: bool = False, **answers: Any) -> dict[str, str]:
    name = collection_name(log.name)
    facts = guess(log, name, answers)
    place = Place("source('shop', 'log')", "models", "shop", companions)
    written = write_files(facts, place)
    return {path.removeprefix("models/"): text for path, text in written.items()}


def model_of(log: Log, **answers: Any) -> str:
    return files(log, **answers)[f"{collection_name(log.name)}.sql"]


@pytest.mark.parametrize(("log", "expected"), MODELS, ids=[log.name for log, _ in MODELS])
def test_the_model_has_the_guesses(log: Log, expected: str) -> None:
    assert model_of(log) == expected


def test_a_collection_is_one_model_and_its_properties_in_60_lines() -> None:
    for log in (ORDERS, INVOICES, PRODUCTS, SUPPLIERS, CUSTOMERS, PARCELS):
        name = collection_name(log.name)
        written = files(log)
        assert [*written] == [f"{name}.sql", f"{name}.yml"]
        assert "".join(written.values()).count("\n") <= 60
    assert files(ORDERS)["orders.yml"] == PROPERTIES


def test_messages_and_extracts_are_compared_with_their_log_too() -> None:
    (_, test) = yaml.safe_load(files(CUSTOMERS)["customers.yml"])["models"][0]["data_tests"]
    assert test["trueup.agrees_with_log"]["arguments"] == {
        "log": "source('shop', 'log')",
        "key": ["id"],
        "messages": {
            "macro": "debezium",
            "schema": {"id": "bigint", "name": "string", "notes": "string"},
        },
        "columns": ["name", "notes"],
    }
    (_, test) = yaml.safe_load(files(SUPPLIERS)["suppliers.yml"])["models"][0]["data_tests"]
    assert test["trueup.agrees_with_log"]["arguments"] == {
        "log": "source('shop', 'log')",
        "key": ["supplier_id"],
        "sequence_by": ["snapshot_ts", "not is_absent"],
        "delete_when": "is_absent",
        "extract": "extracted_on",
        "columns": ["name", "city"],
    }


def test_an_extract_that_was_delivered_again_has_the_number_of_its_load() -> None:
    rows = [
        ("2026-01-05", 1, 1, "Acme"),
        ("2026-01-05", 1, 2, "Bolt"),
        ("2026-01-05", 2, 1, "Acme Ltd"),
        ("2026-01-06", 3, 1, "Acme Ltd"),
    ]
    schema = "extracted_on date, load_number int, supplier_id bigint, name string"
    log = table("suppliers_extracts", schema, *rows)
    given = {"envelope": "snapshots", "key": ["supplier_id"]}
    model = model_of(log, **given)
    assert "ts='struct(extracted_on, load_number)'" in model
    assert "columns=['name']" in model
    assert guess(log, "suppliers", given).guesses["sequence_by"].is_sure
    # One delivery in several loads is one extract.
    parts = [(day, load, key, name) for day, load, key, name in rows if (load, key) != (2, 1)]
    parts.insert(2, ("2026-01-05", 2, 3, "Cord"))
    assert "ts='extracted_on'" in model_of(table("suppliers_extracts", schema, *parts), **given)


def test_companions_read_the_collection() -> None:
    written = files(ORDERS, companions=True)
    assert [*written] == ["orders.sql", "orders_changelog.sql", "orders_errors.sql", "orders.yml"]
    assert written["orders_changelog.sql"] == "{{ trueup.changelog(ref('orders')) }}\n"
    models = yaml.safe_load(written["orders.yml"])["models"]
    assert [one["name"] for one in models] == ["orders", "orders_changelog", "orders_errors"]
    assert all(one["description"] for one in models)


def test_rows_that_are_no_commands_are_skipped_by_the_model_and_its_test() -> None:
    rows = [(1, 1, "I", 0), (1, 2, "B", 0), (1, 2, "U", 1), (1, 3, "D", 1)]
    log = table("orders", "id int, change_seq int, op string, x int", *rows)
    assert "skip_when=\"op = 'B'\"" in model_of(log)
    (model,) = yaml.safe_load(files(log)["orders.yml"])["models"]
    (_, compared) = model["data_tests"]
    arguments = compared["trueup.agrees_with_log"]["arguments"]
    assert arguments["skip_when"] == "op = 'B'"


def test_the_answer_to_ties_and_the_tick_are_in_the_model() -> None:
    log = table("orders", "order_id int, ts int, x int", (1, 1, 5), (1, 1, 6))
    text = model_of(log, ties="prefer_upsert", ts="ts")
    assert "meta={'trueup': {'ties': 'prefer_upsert'}}" in text
    assert "    ts='ts',\n" in text
    assert 'ts: "ts"' in files(log, ties="error", ts="ts")["orders.yml"]


def test_a_field_of_a_struct_becomes_the_key() -> None:
    kind = "struct<key:struct<`order no`:int>, offset:bigint, op:string>"
    row = {"key": {"order no": 1}, "offset": 7, "op": "U"}
    log = table("orders", f"x int, _cdc {kind}", (1, row))
    text = model_of(log, key=["_cdc.key.order no"])
    assert (
        "'(select *, _cdc.key.`order no` as `order no` from ' ~ source('shop', 'log') ~ ')'" in text
    )
    assert "unique_key='order no'" in text
    assert "sequence_by=['_cdc.offset']" in text
    assert "delete_when=\"_cdc.op = 'D'\"" in text
    (model,) = yaml.safe_load(files(log, key=["_cdc.key.order no"])["orders.yml"])["models"]
    assert [one["name"] for one in model["columns"]] == ["order no", "x"]


def test_a_model_to_start_from_says_what_is_missing() -> None:
    facts = guess(table("visits", "shop string, x int", ("a", 1)), "visits", {})
    text = write_files(facts, Place("ref('visits')", "models"))["models/visits.sql"]
    assert "unique_key='<key>'" in text
    assert "sequence_by=['<order>']" in text


def test_a_key_of_two_columns_may_have_nulls() -> None:
    written = files(ORDERS, key=["order_id", "customer_id"])
    (model,) = yaml.safe_load(written["orders.yml"])["models"]
    assert [one.get("data_tests") for one in model["columns"]] == [None, None, None]
    assert "unique_key=['order_id', 'customer_id']" in written["orders.sql"]


def test_a_log_of_the_project_is_no_new_source() -> None:
    text = write_files(guess(ORDERS, "orders", {}), Place("ref('log')", "models"))[
        "models/orders.yml"
    ]
    assert "sources" not in yaml.safe_load(text)


def test_dbt_quotes_odd_names() -> None:
    types = {"order no": "int", "commit no": "int", "on": "string"}
    log = read_log("orders", types, [{"order no": 1, "commit no": 1, "on": None}])
    written = files(log, key=["order no"])
    (model,) = yaml.safe_load(written["orders.yml"])["models"]
    assert [(one["name"], one.get("quote")) for one in model["columns"]] == [
        ("order no", True),
        ("on", None),
    ]
    assert "sequence_by=['`commit no`']" in written["orders.sql"]
    assert [scalar(text) for text in ("order no", "a", "1a", "Größe")] == [
        '"order no"', "a", '"1a"', "Größe",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["updates", "config", "columns", "on", "no", "yes", "null"])
def test_a_collection_may_have_a_name_that_means_something_in_yaml(name: str) -> None:
    text = write_files(guess(ORDERS, name, {}), Place("ref('log')", "models"))[f"models/{name}.yml"]
    (model,) = yaml.safe_load(text)["models"]
    assert model["name"] == name


def test_messages_of_other_tables_are_left_out_of_a_topic() -> None:
    rows = [(None, event({"id": 1}, table=name), 0, 0) for name in ("a", "b")]
    log = table("all", TOPIC, *rows)
    assert "table='public.a'" in model_of(log, table="public.a")
    assert "table=" not in model_of(log, table="all")


def sql_of(model: str, macro: str, argument: str) -> Any:
    """The argument that a model gives a macro of trueup."""
    given: dict[str, Any] = {}
    trueup = SimpleNamespace(**{macro: lambda **arguments: given.update(arguments)})
    Template(model).render(trueup=trueup, source=lambda _, table: table, config=dict)
    return given[argument]


def test_the_columns_of_messages_and_of_their_keys_are_quoted() -> None:
    types = {"kafka key": "string", "kafka value": "string"}
    messages = [event({"id": 1}, table=name) for name in ("a", "b")]
    rows = [{"kafka key": '{"id": 1}', "kafka value": message} for message in messages]
    text = model_of(read_log("all", types, rows), table="public.a")
    assert sql_of(text, "debezium", "value") == "`kafka value`"
    assert sql_of(text, "debezium", "key") == "`kafka key`"
    slot = read_log("slot", {"my data": "string"}, [{"my data": PARCELS.rows[1]["data"]}])
    assert sql_of(model_of(slot), "wal2json", "value") == "`my data`"


def test_all_files_are_written_or_none(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("a wall: no folder can be made here")
    with pytest.raises(OSError, match="b"):
        save_files(tmp_path, {"a.sql": "new", "b/c.sql": "new"}, overwrite=False)
    assert [file.name for file in tmp_path.iterdir()] == ["b"]


def test_files_are_utf_8_and_a_text_that_is_not_leaves_no_file(tmp_path: Path) -> None:
    save_files(tmp_path, {"a.yml": "größe"}, overwrite=False)
    assert (tmp_path / "a.yml").read_bytes() == "größe".encode()
    with pytest.raises(UnicodeEncodeError):
        save_files(tmp_path, {"b.sql": "new", "c.sql": "\ud800"}, overwrite=False)
    assert [file.name for file in tmp_path.iterdir()] == ["a.yml"]


def test_a_file_of_others_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("select 1")
    for overwrite in (False, True):
        with pytest.raises(UsageError, match=r"nothing is written: a\.sql exist"):
            save_files(tmp_path, {"b.sql": "new", "a.sql": "new"}, overwrite=overwrite)
    assert [file.name for file in tmp_path.iterdir()] == ["a.sql"]
