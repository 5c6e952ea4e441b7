"""The cost of a run in statements, Spark jobs, reads and files. Noise cannot change these numbers.

If your change makes a number larger, say why here. Seconds belong to benchmarks/.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from dbt.adapters.spark.session import Cursor

from tests.acceptance import Column, multiset
from tests.macros.package import ROOT
from tests.oracle import Collection, Command, check_updates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

SCAN = re.compile(r"BatchScan \S+?\.\w+?\.orders_(\w+)\[")
IS_ADAPTIVE = "TRUEUP_SPARK_DEFAULTS" in os.environ
"""Whether Spark plans adaptively. Each stage is then a job of its own."""
COLUMNS = [Column("a", "int"), Column("b", "string"), Column("c", "string")]


@dataclass
class Cost:
    """The numbers of a run. Statements and reads are counted by the role of the model."""

    jobs: int = 0
    """All jobs of Spark."""
    statements: Counter[str] = field(default_factory=Counter)
    reads: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """The reads of each table of the collection, in the main statement of each model."""
    plans: dict[str, str] = field(default_factory=dict)
    """The plan of the main statement of each model."""
    files: int = 0
    """All data files that the run read."""

    @property
    def shuffles(self) -> dict[str, int]:
        """The exchanges in the main statement of each model, without broadcasts."""
        return {
            role: len(re.findall(r"[:+]- Exchange ", plan)) for role, plan in self.plans.items()
        }


@contextmanager
def counted(spark: SparkSession) -> Iterator[Cost]:
    """Count the statements, jobs, reads and files of dbt's models."""
    execute, cost = Cursor.execute, Cost()
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()

    def counting(cursor: Cursor, sql: str, *parameters: Any) -> None:
        comment = re.match(r"/\*\s*(\{.*?\})\s*\*/\s*", sql)
        role = json.loads(comment[1]).get("node_id", "_").rpartition("_")[2] if comment else ""
        if role and (select := main_select(sql)):
            plan = spark.sql(f"explain {select}").collect()[0][0]
            cost.reads[role] += Counter(SCAN.findall(plan))
            cost.plans[role] = plan
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
    """Give the ids of the statements that Spark executed after a given one."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    found = spark._jsparkSession.sharedState().statusStore().executionsList()
    ids = [found.apply(place).executionId() for place in range(found.size())]
    return [each for each in ids if each > after]


def scanned_files(spark: SparkSession, execution: int) -> int:
    """Give the number of data files that a statement read, from the metric of Iceberg's scans."""
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
    """Give the main query of a MERGE or of a new table, or None for another statement."""
    if "merge into" in sql:
        return sql[sql.index("merge into") :]
    if "create or replace table" in sql:
        return sql.partition("\nas\n")[2]
    return None


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A collection with rows, after two runs."""
    project = new_project("cost")
    project.add_collection("orders", COLUMNS[:1], COLUMNS[1:], {"verify": "always"})
    for ts in (1, 2):
        project.append("orders", commands(ts))
        project.run()
    return project


def commands(ts: int) -> list[Command]:
    return [Command(ts, (key,), (key,), ("b", f"{ts}")) for key in range(20)]


RUN = ("orders_corrections", "orders_batch", "orders_changelog", "orders_state")


def test_a_run_with_a_batch_has_the_known_cost(project: Project) -> None:
    project.append("orders", commands(3))
    with counted(project.spark) as cost:
        project.run(*RUN)

    # The corrections do not read the log, nor the rows of the state: only its snapshots.
    # The batch asks for the query of the commands, and the properties and snapshots of the log. It
    # makes a view of the new commands. The frontier needs two queries: as one, Spark would plan the
    # first part twice.
    # One more statement runs no job: how Spark treats CTEs.
    # What the corrections have found out, the batch does not ask again. The changelog and the state
    # do not ask for what this run has staged and appended: their statements check it. The snapshot
    # of the state tells, without a job, that no other run came in between.
    assert cost.statements == {"corrections": 7, "batch": 11, "changelog": 3, "state": 3}
    # The append reads the staged batch to check it and to write it, and once for its progress row.
    assert cost.jobs == 12 or IS_ADAPTIVE
    assert cost.files == 20
    assert cost.reads == {
        # It reads the state for values and progress, and the log for keys and commands.
        "batch": {"state": 2, "log": 2, "changelog": 1},
        "changelog": {"batch": 3, "changelog": 2},
        # It reads the rows and the progress of the tail.
        "state": {"changelog": 2, "state": 1},
    }
    # A small batch is folded in one task, so its steps are shuffled once. The state is merged with
    # updates that are grouped by key, and the changelog only with its progress rows.
    assert cost.shuffles == {"batch": 1, "changelog": 3, "state": 5} or IS_ADAPTIVE


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("history", {}),
        ("newest", {"late": "newest"}),
        ("snapshot", {"first_batch": "snapshot", "ties": "fail"}),
    ],
)
def test_a_large_batch_is_folded_once(project: Project, name: str, options: dict[str, str]) -> None:
    """The updates, the statistics and the certificate read the result of one fold."""
    project.add_collection(name, COLUMNS[:1], COLUMNS[1:], options)
    project.append(name, commands(1))
    with counted(project.spark) as cost:
        # A first batch never takes the select of a small batch.
        project.run(f"models/{name}")
    plan = cost.plans["batch"]
    # This would be a shuffle that sorts the folded rows.
    assert "REBALANCE" not in plan
    # An adaptive plan shows only at its end that it uses a shuffle again.
    assert plan.count("Window [lag(_value") == 1 or IS_ADAPTIVE
    shuffles = re.findall(r"[:+]- Exchange .*REPARTITION_BY_COL", plan)
    assert len(shuffles) == 2 or IS_ADAPTIVE


def test_a_batch_reads_a_log_without_snapshots_once(project: Project) -> None:
    """Between two reads a command may come whose key was not among those of the first read."""
    project.add_collection("arrivals", COLUMNS[:1], COLUMNS[1:], arrived="log_ts")
    # The number of an outbox may become visible after a greater one.
    project.add_collection("outbox", COLUMNS[:1], COLUMNS[1:])
    project.sql(
        "create view {}.outbox_read as"
        " select *, 0 as shard, log_ts * 1000 + log_order as id from {}.outbox_log"
    )
    project.write(
        "models/outbox/outbox_commands.sql",
        "{{ trueup.commands('cost.outbox_read', reclock=['shard', 'id'],"
        " sequence_by=['log_order'], delete_when='log_delete', columns=['b', 'c']) }}",
    )
    # A first batch never takes the select of a small batch, the next one does.
    for ts in (1, 2):
        for name in ("arrivals", "outbox"):
            project.append(name, commands(ts))
            with counted(project.spark) as cost:
                project.run(f"models/{name}")
            assert len(re.findall(rf"BatchScan \S+{name}_log\[", cost.plans["batch"])) == 1
            oracle = Collection()
            oracle.run(commands(ts))
            assert multiset(project.rows(name)) == multiset(oracle.rows)


def test_a_batch_is_correct_without_join_hints_too(project: Project) -> None:
    """Hints broadcast the keys of a small batch to the state. Without hints Spark shuffles both."""
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
    check_updates(updates, oracle.changelog)


def test_a_run_with_nothing_to_do_has_the_known_cost(project: Project) -> None:
    with counted(project.spark) as cost:
        project.run(*RUN)

    # If the log has no new snapshot, the batch asks neither for its snapshots nor for its commands.
    # It finds nothing to do, so the changelog and the state ask for nothing.
    assert cost.statements == {"corrections": 7, "batch": 4}
    assert cost.jobs == 3 or IS_ADAPTIVE
    assert cost.files == 5
    assert cost.reads == {}


def test_the_cost_of_a_run_does_not_grow_with_the_number_of_batches(project: Project) -> None:
    """Each batch adds a file with its progress row. A run opens those of the last two batches."""
    costs = []
    for ticks in (range(10, 11), range(11, 13)):
        for ts in ticks:
            project.append("orders", commands(ts))
            with counted(project.spark) as of_batch:
                project.run(*RUN)
        with counted(project.spark) as of_idle_run:
            project.run(*RUN)
        costs.append((of_batch, of_idle_run))

    (few_of_batch, few), (many_of_batch, many) = costs
    assert (many.statements, many.jobs, many.files) == (few.statements, few.jobs, few.files)
    assert many_of_batch.statements == few_of_batch.statements
    assert many_of_batch.jobs == few_of_batch.jobs or IS_ADAPTIVE
    # Each batch adds a file of rows to the state. Until maintenance joins these files, each later
    # run with a batch reads it twice: for the values before, and to apply.
    assert many_of_batch.files == few_of_batch.files + 2 * 2


def test_a_heal_sends_as_many_statements_as_its_page_says(project: Project) -> None:
    page = (ROOT / "docs" / "self-correction.md").read_text()
    scan, heal, rebuild = (
        int(re.findall(rf"^\| {line}.*? \| \+ (\d+) \|", page, re.MULTILINE)[0])
        for line in ("a scan", "healing some buckets", "rehydrating the state")
    )

    def sent() -> int:
        with counted(project.spark) as cost:
            project.run(*RUN)
        return cost.statements["corrections"]

    project.append("orders", commands(30))
    project.run(*RUN)
    usual = sent()
    project.sql("update {}.orders_state set b = b where a = 3")
    assert sent() == usual + scan
    project.sql("update {}.orders_state set b = 'edited' where a = 3")
    assert sent() == usual + scan + heal
    # After a heal the next run scans once more. It need not list the snapshots first.
    assert sent() == usual + scan - 1
    project.sql("update {}.orders_state set _upper = _upper + 1 where _kind = 'progress'")
    assert sent() == usual + scan + rebuild
