"""The cost of a run in statements. Noise cannot change these numbers.

They may only fall. If your change makes one larger, say why here. Seconds belong to benchmarks/.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column
from tests.between import sent
from tests.newest_oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

MOST = 12
"""Statements of a run with commands. Three are of dbt itself; the goal is 9."""
MOST_IDLE = 7
"""Statements of a run with nothing new. The goal is 6."""
KEYS = 20


def commands(ts: int) -> list[Command]:
    return [Command((ts, key), (key,), ("b", f"{ts}")) for key in range(KEYS)]


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A collection with rows, after two runs."""
    project = new_project("cost")
    value = [Column("b", "string"), Column("c", "string")]
    project.add_collection("orders", [Column("a", "int")], value)
    for ts in (1, 2):
        project.append("orders", commands(ts))
        project.run("orders")
    return project


def names(statements: list[str]) -> str:
    return "\n".join(re.sub(r"/\*.*?\*/", "", each, flags=re.DOTALL)[:80] for each in statements)


def plan_of(project: Project, statement: str) -> str:
    """How Spark would execute a statement."""
    (row,) = project.spark.sql(f"explain {statement}").collect()
    return str(row[0])


def test_a_run_with_commands_sends_few_statements_and_commits_once(project: Project) -> None:
    before = len(project.versions("orders__trueup"))
    project.append("orders", commands(3))
    with sent("") as statements:
        project.run("orders")
    assert 3 < len(statements) <= MOST, names(statements)
    (commit,) = [each for each in statements if "/* trueup: commit */" in each]
    # Both uses of the fold share its shuffle, so the log is scanned once.
    plan = plan_of(project, commit)
    assert plan.count("BatchScan lake.cost.orders_log") == 1
    scans = re.findall(
        r"IcebergScan\(table=lake\.cost\.orders__trueup,.*? filters=(.*?), runtime", plan
    )
    assert len(scans) > 1
    # No scan of the store reads the history, which only grows.
    assert [each for each in scans if not re.search(r"_kind IN|_kind = 'batch'", each)] == []
    assert len(project.versions("orders__trueup")) == before + 1
    assert project.progress("orders")[-1]["statistics"]["updates"] == KEYS


SCHEMA = {"id": "bigint", "name": "string", "price": "decimal(9,2)", "at": "timestamp_ntz"}


def say_debezium(number: int, row: dict[str, Any]) -> str:
    return json.dumps({"op": "u", "before": None, "after": row, "source": {"lsn": number}})


def say_wal2json(number: int, row: dict[str, Any]) -> str:
    columns = [{"name": name, "value": value} for name, value in row.items()]
    return json.dumps({"action": "U", "lsn": f"0/{number:X}", "columns": columns})


@pytest.mark.parametrize(
    ("say", "more"),
    [
        (say_debezium, ", old_key='key', snapshot=true, reclock=['off']"),
        pytest.param(say_wal2json, ", value='value', reclock=['off']", marks=pytest.mark.long),
    ],
)
def test_a_commit_decodes_each_message_once(
    project: Project, say: Callable[[int, dict[str, Any]], str], more: str
) -> None:
    """The two uses of the fold share a shuffle, and the places are those of the look."""
    name = say.__name__.removeprefix("say_")
    log = f"{project.name}.{name}_log"
    project.sql(f"create table {log} (key string, value string, off bigint) using iceberg")
    call = f"{{{{ trueup.{name}('{log}', {SCHEMA}{more}) }}}}"
    project.write_model(name, call, ["id"], {})
    for number in (1, 2):
        row = {"id": 7, "name": f"name {number}", "price": 1.5, "at": "2026-11-30 10:00:00"}
        project.insert(f"{name}_log", [('{"id": 7}', say(number, row), number)])
        with sent("trueup: commit") as statements:
            project.run(name)
        assert f"batch {number}: 1 command" in project.messages[0]
    plan = plan_of(project, statements[0])
    assert plan.count(f"BatchScan lake.{log}") == 1
    (written,) = project.sql(f"select name, string(price) from {{}}.{name}")
    assert tuple(written) == ("name 2", "1.50")


def test_a_run_with_nothing_new_sends_fewer_and_reads_no_row(project: Project) -> None:
    before = project.version("orders__trueup")
    with sent("") as statements:
        project.run("orders")
    assert project.messages[0].startswith("orders: up to date at batch")
    assert 1 < len(statements) <= MOST_IDLE, names(statements)
    assert not [each for each in statements if "trueup: commit" in each]
    assert project.version("orders__trueup") == before


@pytest.mark.long
def test_a_large_batch_reads_only_the_rows_that_it_may_change(project: Project) -> None:
    """A batch of many keys has a filter, too. Keys without a command and new keys are right."""
    some, more = range(1000, 13000), range(2000, 14000)
    project.append("orders", [Command((5, key), (key,), ("b", "old")) for key in some])
    project.run("orders")
    changes = [Command((6, key), (key,), ("b", "new") if key % 3 else None) for key in more]
    project.append("orders", changes)
    with sent("trueup: commit") as statements:
        project.run("orders")
    # Four bits for each of 12,000 commands, in whole parts of 32,768 bits.
    assert len(re.findall(r"'[0-?]{16384}' as binary", statements[0])) > 1
    rows = project.spark.table("cost.orders").where("a >= 1000").select("a", "c").collect()
    expected = dict.fromkeys(some, "old") | dict.fromkeys(more, "new")
    assert dict(map(tuple, rows)) == {k: v for k, v in expected.items() if v == "old" or k % 3}


def test_a_second_run_reads_only_the_new_commands(project: Project) -> None:
    project.append("orders", commands(4)[:3])
    project.run("orders")
    assert project.progress("orders")[-1]["statistics"]["messages_received"] == 3
