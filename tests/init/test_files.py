"""The files of a collection: what they say, and that a person could have written them."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jinja2 import Template

from dbt_trueup.errors import UsageError
from dbt_trueup.init.files import Place, write_files
from dbt_trueup.init.guess import guess
from dbt_trueup.init.log import read_log
from dbt_trueup.init.project import save_files
from dbt_trueup.init.properties import scalar
from dbt_trueup.init.screen import describe_guesses
from dbt_trueup.init.words import collection_name
from tests.init.logs import CUSTOMERS, INVOICES, ORDERS, PARCELS, SUPPLIERS, TOPIC, event, table

if TYPE_CHECKING:
    from pathlib import Path

    from dbt_trueup.init.log import Log

COMMANDS = [
    (
        ORDERS,
        """\
{{ trueup.commands(
    relation=source('shop', 'log'),
    ts='commit_no',
    sequence_by=['change_no'],
    delete_when="op = 'D'",
    columns=['customer_id', 'status']
) }}
""",
    ),
    (
        SUPPLIERS,
        """\
{{ trueup.commands(
    relation=trueup.snapshot_commands(
        relation=source('shop', 'log'),
        unique_key=['supplier_id'],
        ts='unix_date(extracted_on)'
    ),
    ts='snapshot_ts',
    sequence_by=['is_absent'],
    delete_when='is_absent',
    columns=['name', 'city']
) }}
""",
    ),
    (
        CUSTOMERS,
        """\
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


def files(log: Log, **answers: Any) -> dict[str, str]:
    name = collection_name(log.name)
    facts = guess(log, name, answers)
    written = write_files(facts, Place("source('shop', 'log')", f"models/{name}", "shop"))
    return {path.removeprefix(f"models/{name}/"): text for path, text in written.items()}


@pytest.mark.parametrize(("log", "expected"), COMMANDS, ids=[log.name for log, _ in COMMANDS])
def test_the_model_of_the_commands_has_the_guesses(log: Log, expected: str) -> None:
    assert files(log)[f"{collection_name(log.name)}_commands.sql"] == expected


def test_a_collection_has_seven_models_and_two_files_of_properties() -> None:
    written = files(ORDERS)
    assert [*written] == [
        *("orders_commands.sql", "orders_corrections.sql", "orders_batch.sql"),
        *("orders_changelog.sql", "orders_state.sql", "orders_errors.sql", "orders.sql"),
        *("orders.yml", "orders_sources.yml"),
    ]
    assert written["orders.sql"] == "{{ trueup.collection('orders') }}\n"
    assert written["orders_batch.sql"] == "{{ trueup.batch('orders') }}\n"


def test_every_model_has_the_key_a_description_and_the_view_a_contract() -> None:
    written = files(ORDERS)
    models = {one["name"]: one for one in yaml.safe_load(written["orders.yml"])["models"]}
    assert {f"{name}.sql" for name in models} == {one for one in written if one.endswith("sql")}
    assert all(model["config"]["unique_key"] == ["order_id"] for model in models.values())
    assert all(model["description"] for model in models.values())
    view = models["orders"]
    assert view["config"]["contract"] == {"enforced": True}
    assert {column["name"]: column["data_type"] for column in view["columns"]} == {
        "order_id": "bigint", "customer_id": "bigint", "status": "string",
    }  # fmt: skip
    assert view["columns"][0]["data_tests"] == ["not_null", "unique"]


def test_a_key_of_two_columns_may_have_nulls_and_is_unique_as_a_whole() -> None:
    view = yaml.safe_load(files(ORDERS, key=["order_id", "customer_id"])["orders.yml"])["models"][5]
    assert view["name"] == "orders"
    assert [one.get("data_tests") for one in view["columns"]] == [None, None, None]
    (certificate,) = view["data_tests"]
    arguments = certificate["trueup.matches_certificate"]["arguments"]
    assert arguments["unique_key"] == ["order_id", "customer_id"]


def test_the_last_commit_of_dms_is_held_back() -> None:
    models = yaml.safe_load(files(INVOICES)["invoices.yml"])["models"]
    assert models[0]["config"]["meta"] == {"trueup": {"input_upper": "log_upper - 1"}}


def test_the_last_time_of_debezium_is_held_back_if_it_is_the_tick() -> None:
    message = event({"id": 1, "name": "Ada"})
    pairs = table("customers_pairs", "key string, value string", ('{"id": 1}', message))
    models = yaml.safe_load(files(pairs)["customers_pairs.yml"])["models"]
    assert models[0]["config"]["meta"] == {"trueup": {"input_upper": "log_upper - 1"}}
    models = yaml.safe_load(files(CUSTOMERS)["customers.yml"])["models"]
    assert "meta" not in models[0]["config"]


def test_the_last_second_of_wal2json_is_held_back() -> None:
    models = yaml.safe_load(files(PARCELS)["slot.yml"])["models"]
    assert models[0]["config"]["meta"] == {"trueup": {"input_upper": "log_upper - 1000000"}}


@pytest.mark.parametrize("log", [INVOICES, PARCELS, ORDERS, CUSTOMERS], ids=lambda log: log.name)
def test_the_screen_says_that_the_last_commands_are_held_back(log: Log) -> None:
    name = collection_name(log.name)
    note = "\nnote: the last commands of the log wait until later ones come (option `input_upper`)"
    models = yaml.safe_load(files(log)[f"{name}.yml"])["models"]
    is_held_back = "meta" in models[0]["config"]
    assert is_held_back == (log in (INVOICES, PARCELS))
    assert (note in describe_guesses(guess(log, name, {}))) == is_held_back


def test_the_source_is_the_log_and_its_place_is_never_null() -> None:
    (source,) = yaml.safe_load(files(CUSTOMERS)["customers_sources.yml"])["sources"]
    assert source["name"] == "shop"
    (log,) = source["tables"]
    assert log["name"] == "customers_topic"
    assert [column["name"] for column in log["columns"]] == ["partition", "offset"]


def test_rows_of_the_last_day_are_held_back() -> None:
    log = table("orders", "order_id int, updated_date date, x int", (1, "2026-01-05", 1))
    models = yaml.safe_load(files(log)["orders.yml"])["models"]
    assert models[0]["config"]["meta"] == {"trueup": {"input_upper": "log_upper - 1"}}


def test_dbt_quotes_odd_names_and_spark_odd_fields() -> None:
    types = {
        "order no": "int",
        "commit no": "int",
        "place": "struct<lat-x:double, y:decimal(4,2), z: int>",
    }
    log = read_log("orders", types, [{"order no": 1, "commit no": 1, "place": None}])
    written = files(log, key=["order no"], ts="`commit no`", columns=["place"])
    (view,) = (
        one for one in yaml.safe_load(written["orders.yml"])["models"] if one["name"] == "orders"
    )
    number, place = view["columns"]
    assert (number["name"], number["quote"]) == ("order no", True)
    assert (place["data_type"], place.get("quote")) == (
        "struct<`lat-x`:double, y:decimal(4,2), z: int>", None,
    )  # fmt: skip
    (source,) = yaml.safe_load(written["orders_sources.yml"])["sources"]
    assert source["tables"][0]["columns"][0]["quote"] is True


def test_odd_names_are_in_quotes() -> None:
    log = table("orders", "order_id int, commit_no int, on string", (1, 1, "x"))
    assert 'name: "on"' in files(log)["orders.yml"]
    assert [scalar(text) for text in ("order no", "a", "1a", "Größe")] == [
        '"order no"', "a", '"1a"', "Größe",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["updates", "config", "columns", "on", "no", "yes", "null"])
def test_a_collection_may_have_a_name_that_means_something_in_yaml(name: str) -> None:
    facts = guess(ORDERS, name, {})
    text = write_files(facts, Place("ref('log')", "models"))[f"models/{name}.yml"]
    models = yaml.safe_load(text)["models"]
    suffixes = ("_commands", "_corrections", "_batch", "_changelog", "_state", "", "_errors")
    assert [model["name"] for model in models] == [f"{name}{suffix}" for suffix in suffixes]
    assert all(model["config"]["unique_key"] == ["order_id"] for model in models)
    assert models[2]["columns"] == models[3]["columns"]


def test_messages_of_other_tables_are_left_out_of_a_topic() -> None:
    rows = [(None, event({"id": 1}, table=name), 0, 0) for name in ("a", "b")]
    text = files(table("all", TOPIC, *rows), table="public.a")["all_commands.sql"]
    assert "'(select * from ' ~ source('shop', 'log') ~ \"" in text
    assert ") = 'public.a'" in text


def sql_of(model: str, macro: str, argument: str) -> Any:
    """The argument that a model gives a macro of trueup."""
    given: dict[str, Any] = {}
    trueup = SimpleNamespace(**{macro: lambda **arguments: given.update(arguments)})
    Template(model).render(trueup=trueup, source=lambda _, table: table)
    return given[argument]


@pytest.mark.parametrize("odd", ["it's", 'a"b', "a\\b", "{{ x }}", "größe"])
def test_an_odd_name_of_a_table_is_one_text_in_the_select(odd: str) -> None:
    rows = [(None, event({"id": 1}, table=name), 0, 0) for name in (odd, "b")]
    text = files(table("all", TOPIC, *rows), table=f"public.{odd}")["all_commands.sql"]
    (name,) = re.findall(r"\) = '(.*)'\n    \)$", sql_of(text, "debezium", "relation"))
    assert re.sub(r"\\(.)", r"\1", name) == f"public.{odd}"
    assert not re.search(r"(?<!\\)'", name)


def test_the_columns_of_messages_and_of_their_keys_are_quoted() -> None:
    types = {"kafka key": "string", "kafka value": "string"}
    messages = [event({"id": 1}, table=name) for name in ("a", "b")]
    rows = [{"kafka key": '{"id": 1}', "kafka value": message} for message in messages]
    text = files(read_log("all", types, rows), table="public.a")["all_commands.sql"]
    assert sql_of(text, "debezium", "value") == "`kafka value`"
    assert sql_of(text, "debezium", "key") == "`kafka key`"
    assert "cast(`kafka value` as string)" in sql_of(text, "debezium", "relation")
    slot = read_log("slot", {"my data": "string"}, [{"my data": PARCELS.rows[1]["data"]}])
    assert sql_of(files(slot)["slot_commands.sql"], "wal2json", "value") == "`my data`"


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
