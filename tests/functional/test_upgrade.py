"""Tables that an earlier version of trueup has written, and tables of a later one.

`tables_before_positions.json` has the tables of a collection as the version before the commit `Read
only what is new in the log` wrote them: two batches, a late command that was dropped, and a third
batch that a dry run has staged.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance import Column, multiset
from tests.oracle import Command, check_laws

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

FORMER = json.loads((Path(__file__).parent / "tables_before_positions.json").read_text())
KEY, VALUE = [Column("k", "string")], [Column("v", "int"), Column("d", "date")]
DAY = dt.date(2026, 1, 2)
LOG = [
    Command(1, (1,), ("a",), (1, DAY)),
    Command(1, (1,), ("b",), (2, None)),
    Command(2, (1,), ("a",), (3, DAY)),
    Command(2, (1,), ("c",), None, error="bad"),
    Command(3, (1,), ("b",), None),
    Command(4, (1,), ("d",), (4, DAY)),
    Command(2, (9,), ("a",), (99, DAY)),  # late
    Command(4, (1,), ("c",), (5, None)),
    Command(5, (1,), ("e",), (6, DAY)),
]


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    return new_project("upgrade")


def restore(project: Project, name: str) -> None:
    """Create the tables as the earlier version has left them, and the log that it read."""
    project.add_collection(name, KEY, VALUE, {"verify": "always"})
    project.append(name, LOG)
    for role, table in FORMER.items():
        columns = ", ".join(f"`{column}` {kind}" for column, kind in table["columns"].items())
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in table["properties"].items())
        partitioned = "partitioned by (_kind)" if role == "changelog" else ""
        target = f"{project.name}.{name}_{role}"
        project.sql(
            f"create table {target} ({columns}) using {{format}} {partitioned}"
            f" tblproperties ({properties})"
        )
        rows = [(json.dumps(row),) for row in table["rows"]]
        project.spark.createDataFrame(rows, "row string").createOrReplaceTempView("former_rows")
        struct = ", ".join(f"`{column}` {kind}" for column, kind in table["columns"].items())
        project.sql(
            f"insert into {target} select r.* from (select from_json(row, '{struct}',"
            " map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) as r from former_rows)"
        )


def test_tables_of_an_earlier_version_are_continued(project: Project) -> None:
    restore(project, "orders")
    project.append("orders", [Command(6, (1,), ("a",), None), Command(3, (2,), ("b",), (8, DAY))])
    said = project.operate("compact", collection="orders", since=2, fails=True)
    assert "Got: a table of an earlier version, without " in " ".join(said)
    assert "A run adds them: dbt run -s +orders. Then call it again." in " ".join(said)

    project.run("models/orders")

    assert [row["_seq"] for row in project.progress("orders")] == [1, 2, 3]
    assert multiset(project.rows("orders")) == multiset(
        [("c", 5, None), ("d", 4, DAY), ("e", 6, DAY)]
    )
    check_laws(project.updates("orders"))
    statistics = project.progress("orders")[-1]["_statistics"]
    assert (statistics["format"], statistics["late_dropped"]) == (1, 1)
    fields = [set(row["_statistics"].asDict()) for row in project.progress("orders")]
    assert fields[0] == fields[2]

    # From now on a run reads only what is new.
    project.append("orders", [Command(7, (1,), ("f",), (7, DAY))])
    project.run_collection("orders")
    assert project.progress("orders")[-1]["_statistics"]["commands_read"] == 1
    project.run_collection("orders")
    assert "orders_batch: up to date at 8" in project.messages
    project.run("orders_state", "--full-refresh")
    assert len(project.rows("orders")) == 4


def test_tables_of_a_later_version_are_refused(project: Project) -> None:
    project.add_collection("later", KEY, VALUE)
    project.append("later", LOG[:1])
    project.run("models/later")
    progress = project.progress("later")

    def said() -> str:
        project.run("models/later", fails=True)
        return " ".join(" ".join(project.messages).split())

    must = "upgrade.later_changelog must be written by this version of trueup, whose format is 1,"
    project.append("later", [Command(9, (1,), ("z",), (9, DAY))])
    project.run("later_batch")
    project.sql("update {}.later_changelog set _statistics.format = 2 where _kind = 'progress'")
    assert must in (first := said())
    assert "Got: format 2" in first

    # Models that run alone, and operations, refuse it, too.
    for models in (["later_changelog"], ["later_state"], ["later_state", "--full-refresh"]):
        project.run(*models, fails=True)
        assert must in " ".join(" ".join(project.messages).split())
    for refused in (
        project.operate("compact", collection="later", since=1, fails=True),
        project.operate("maintain", collection="later", fails=True),
    ):
        assert must in " ".join(" ".join(refused).split())
    examined = "\n".join(project.operate("doctor", collection="later"))
    assert "WRONG  a later version of trueup has written" in examined

    project.sql("alter table {}.later_changelog add column _statistics.zebras bigint")
    assert must in (second := said())
    assert "Got: the statistics zebras" in second
    assert [row["_upper"] for row in project.progress("later")] == [progress[0]["_upper"]]
