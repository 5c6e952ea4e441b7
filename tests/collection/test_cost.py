"""The cost of a run in statements. Noise cannot change these numbers.

They may only fall. If your change makes one larger, say why here. Seconds belong to benchmarks/.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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
    assert plan_of(project, commit).count("BatchScan lake.cost.orders_log") == 1
    assert len(project.versions("orders__trueup")) == before + 1
    assert project.progress("orders")[-1]["statistics"]["updates"] == KEYS


def test_a_run_with_nothing_new_sends_fewer_and_reads_no_row(project: Project) -> None:
    before = project.version("orders__trueup")
    with sent("") as statements:
        project.run("orders")
    assert project.messages[0].startswith("orders: up to date at batch")
    assert 1 < len(statements) <= MOST_IDLE, names(statements)
    assert not [each for each in statements if "trueup: commit" in each]
    assert project.version("orders__trueup") == before


def test_a_second_run_reads_only_the_new_commands(project: Project) -> None:
    project.append("orders", commands(4)[:3])
    project.run("orders")
    assert project.progress("orders")[-1]["statistics"]["messages_received"] == 3
