"""What a run costs, in statements, Spark jobs, reads and files: numbers that noise cannot move.

A change that makes one of them larger has to say why here. Seconds are for benchmarks/.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from dbt.adapters.spark.session import Cursor

from tests.acceptance import Column, multiset
from tests.oracle import Collection, Command, check_laws, consolidate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from tests.project import Project

SCAN = re.compile(r"BatchScan \S+?\.\w+?\.orders_(\w+)\[")
COLUMNS = [Column("a", "int"), Column("b", "string"), Column("c", "string")]


@dataclass
class Cost:
    """What was counted, by role of the model."""

    jobs: int = 0
    """Of Spark, in all."""
    statements: Counter[str] = field(default_factory=Counter)
    reads: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """How often the main statement of a model reads a table of the collection."""
    files: int = 0
    """Data files that were read, in all."""


@contextmanager
def counted(spark: SparkSession) -> Iterator[Cost]:
    """Count what dbt's models do."""
    execute, cost = Cursor.execute, Cost()
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()

    def counting(cursor: Cursor, sql: str, *parameters: Any) -> None:
        comment = re.match(r"/\*\s*(\{.*?\})\s*\*/\s*", sql)
        role = json.loads(comment[1]).get("node_id", "_").rpartition("_")[2] if comment else ""
        if role and (select := main_select(sql)):
            plan = spark.sql(f"explain {select}").collect()[0][0]
            cost.reads[role] += Counter(SCAN.findall(plan))
        execute(cursor, sql, *parameters)
        if role:
            cost.statements[role] += 1

    begun, last = scheduler.numTotalJobs(), max(executions(spark), default=-1)
    Cursor.execute = counting  # type: ignore[assignment]
    try:
        yield cost
    finally:
        Cursor.execute = execute  # type: ignore[method-assign]
    cost.jobs = scheduler.numTotalJobs() - begun
    cost.files = sum(scanned_files(spark, execution) for execution in executions(spark, after=last))


def executions(spark: SparkSession, after: int = -1) -> list[int]:
    """Give the ids of the statements that Spark has executed after another one."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    found = spark._jsparkSession.sharedState().statusStore().executionsList()
    ids = [found.apply(place).executionId() for place in range(found.size())]
    return [each for each in ids if each > after]


def scanned_files(spark: SparkSession, execution: int) -> int:
    """Give how many data files a statement has read, by the metric of Iceberg's scans."""
    store = spark._jsparkSession.sharedState().statusStore()
    values = store.executionMetrics(execution)
    metrics = store.execution(execution).get().metrics()
    scans = {
        metrics.apply(place).accumulatorId()
        for place in range(metrics.size())
        if metrics.apply(place).name() == "number of result data files"
    }
    return sum(int(values.apply(scan)) for scan in scans if values.contains(scan))


def main_select(sql: str) -> str | None:
    """Give what a MERGE, or a table, is made of; None for another statement."""
    if "merge into" in sql:
        return sql[sql.index("merge into") :]
    if "create or replace table" in sql:
        return sql.partition("\nas\n")[2]
    return None


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A collection with rows, which has run twice."""
    project = new_project("cost")
    project.add_collection("orders", COLUMNS[:1], COLUMNS[1:], {"verify": "always"})
    for ts in (1, 2):
        project.append("orders", commands(ts))
        project.run()
    return project


def commands(ts: int) -> list[Command]:
    return [Command(ts, (key,), (key,), ("b", f"{ts}")) for key in range(20)]


RUN = ("orders_corrections", "orders_batch", "orders_changelog", "orders_state")


def test_a_run_with_a_batch_costs_what_is_known(project: Project) -> None:
    project.append("orders", commands(3))
    with counted(project.spark) as cost:
        project.run(*RUN)

    # Two queries for the frontier: in one, the first is planned again where the second names it.
    # One more each, without a job: how Spark treats CTEs, and how the state is isolated.
    assert cost.statements == {"corrections": 8, "batch": 11, "changelog": 4, "state": 5}
    # The append checks the staged batch by its seal: it reads it, and the last progress row, twice.
    assert cost.jobs == 16
    assert cost.files == 52
    assert cost.reads == {
        # The state for its values and for its progress; the log for the keys and for the commands.
        "batch": {"state": 2, "log": 2, "changelog": 1},
        "changelog": {"batch": 2, "changelog": 2},
        # Rows and progress of the tail.
        "state": {"changelog": 2, "state": 1},
    }


def test_a_batch_is_the_same_whichever_way_spark_reads_the_state(project: Project) -> None:
    """Hints send the keys of a small batch to the state; without them both are shuffled."""
    log, oracle = [command for ts in (1, 2, 3) for command in commands(ts)], Collection()
    oracle.run(log)
    log += [*commands(4)[5:], Command(4, (1,), (3,), None), Command(4, (1,), (99,), ("b", "new"))]
    project.append("orders", log[60:])
    project.spark.conf.set("spark.sql.optimizer.disableHints", "true")
    try:
        project.run(*RUN)
    finally:
        project.spark.conf.unset("spark.sql.optimizer.disableHints")

    oracle.run(log)
    assert multiset(project.rows("orders")) == multiset(oracle.rows)
    updates = project.updates("orders")
    check_laws(updates)
    assert consolidate(updates) == consolidate(oracle.changelog)


def test_a_run_with_nothing_to_do_costs_what_is_known(project: Project) -> None:
    with counted(project.spark) as cost:
        project.run(*RUN)

    assert cost.statements == {"corrections": 8, "batch": 3, "changelog": 1, "state": 2}
    assert cost.jobs == 7
    assert cost.files == 52
    assert cost.reads == {}
